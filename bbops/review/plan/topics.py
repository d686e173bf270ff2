"""Effects on topics and sent webhooks: more access, and breaks for their receivers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bbops.language.expressions.inside import conjuncts
from bbops.language.expressions.nodes import Literal
from bbops.language.expressions.values import Expression
from bbops.language.json_schema import shape_schema
from bbops.language.project import Resource
from bbops.language.resources.realtime import Realtime, Rows
from bbops.language.resources.webhook import ReceiverTable, Webhook
from bbops.review.contract.asyncapi import messages
from bbops.review.plan.changes import Pairs
from bbops.review.plan.codes import Finding, finding
from bbops.review.plan.opened import shape
from bbops.review.plan.requests import schema_breaks

Topic = Resource[Realtime]


# ---- access
def find_opened_topics(pairs: Pairs) -> Iterator[Finding]:
    """Yield the topics that more clients may subscribe to, publish on, or see more rows of."""
    before = {
        pairs.new_name("realtime", resource.name): resource
        for resource in pairs.base.realtime.values()
    }
    for head in pairs.head.realtime.values():
        base = before.get(head.name)
        if base is not None:
            yield from _who(pairs, base, head)
        if head.model.rows is not None:
            yield from _rows(pairs, base, head, head.model.rows)


def _who(pairs: Pairs, base: Topic, head: Topic) -> Iterator[Finding]:
    subject = _subject(head)
    if _is_public_now(base, head):
        message, place = "is now public; it required JWT", head.place("authentication")
        yield finding("authentication-removed", subject, message, place)
    for key in ("subscribe", "publish"):
        for message in _widened(key, getattr(base.model, key), getattr(head.model, key)):
            yield finding("topic-opened", subject, message, head.place(key))
    for name in _removed(pairs, base, head):
        message = f"'{name}' no longer runs before it"
        yield finding("middleware-removed", subject, message, head.place("middleware"))


def _widened(key: str, was: Any, now: Any) -> Iterator[str]:
    """Yield the ways in which more clients get access."""
    if _is(now, value=False):
        return
    if _is(now, value=True):
        if not _is(was, value=True):
            yield f"'{key}' is true, it was a condition or false"
    elif _is(was, value=False):
        yield f"'{key}' is a condition, it was false"
    else:
        for part in _dropped(was, now):
            yield f"'{key}' no longer checks '{part}'"


def _rows(pairs: Pairs, base: Topic | None, head: Topic, now: Rows) -> Iterator[Finding]:
    """Yield the changes that show more rows on a topic."""
    was = base.model.rows if base is not None else None
    whose = f"of table '{now.table}'"
    if base is None or was is None or pairs.new_name("tables", was.table) != now.table:
        if head.model.authentication == "None":
            yield _opened(head, f"gives anybody rows {whose}", "rows")
        return
    if _is_public_now(base, head):
        yield _opened(head, f"gives anybody rows {whose}", "authentication")
    for name in _removed(pairs, base, head):
        message = f"'{name}' no longer decides who sees rows {whose}"
        yield _opened(head, message, "middleware")
    for part in _dropped(was.where, now.where):
        yield _opened(head, f"shows more rows {whose}: no longer checks '{part}'", "rows", "where")
    columns = pairs.head.tables[now.table].model.columns
    new = [
        column
        for column in now.select
        if (columns[column].renamed_from or column) not in was.select
    ]
    if new := [column for column in new if column not in was.select]:
        names = ", ".join(f"'{column}'" for column in new)
        yield _opened(head, f"shows {names} {whose}", "rows", "select")


def _opened(head: Topic, message: str, *path: str) -> Finding:
    return finding("rows-opened", _subject(head), message, head.place(*path))


def _dropped(was: Any, now: Any) -> Iterator[str]:
    """Yield the parts of a condition, joined by `and`, that another one lacks."""
    if not isinstance(was, Expression):
        return
    kept = (
        {shape(conjunct) for conjunct in conjuncts(now.node)}
        if isinstance(now, Expression)
        else set()
    )
    for node in conjuncts(was.node):
        if shape(node) not in kept and not (isinstance(node, Literal) and node.value is True):
            yield was.text[node.start : node.end]


def _removed(pairs: Pairs, base: Topic, head: Topic) -> list[str]:
    kept = {*head.model.middleware}
    return [
        function
        for function in base.model.middleware
        if pairs.new_name("functions", function) not in kept
    ]


def _is_public_now(base: Topic, head: Topic) -> bool:
    return (base.model.authentication, head.model.authentication) == ("JWT", "None")


def _is(bare: Any, *, value: bool) -> bool:
    """Return whether a condition is this constant."""
    node = getattr(bare, "node", None)
    return isinstance(node, Literal) and node.value is value


# ---- broken clients
def find_topic_breaks(pairs: Pairs) -> Iterator[Finding]:
    """Yield removed topics, events and fields, and topics that need a token now."""
    head = {resource.model.topic: resource for resource in pairs.head.realtime.values()}
    for base in pairs.base.realtime.values():
        now = head.get(base.model.topic)
        if now is None:
            yield finding("topic-removed", _subject(base), "is gone", base.place("topic"))
            continue
        if (base.model.authentication, now.model.authentication) == ("None", "JWT"):
            place = now.place("authentication")
            yield finding(
                "authentication-required", _subject(base), "needs JWT, it was open", place
            )
        yield from _event_breaks(pairs, base, now)


def _event_breaks(pairs: Pairs, base: Topic, head: Topic) -> Iterator[Finding]:
    after = {sent.event: sent.schema for sent in messages(pairs.head, head)}
    for sent in messages(pairs.base, base):
        if sent.event not in after:
            message = f"the event '{sent.event}' is gone"
            yield finding("topic-removed", _subject(base), message, head.place("events"))
            continue
        for code, message in schema_breaks(sent.schema, after[sent.event]):
            in_rows = head.model.rows is not None
            place = head.place("rows", "select") if in_rows else head.place(
                "events", sent.event, key=True
            )  # fmt: skip
            yield finding(code, _subject(base), f"{sent.event}: {message}", place)


def _subject(topic: Topic) -> str:
    return f"topic {topic.model.topic}"


# ---- Find webhooks that a project no longer sends, and their new receivers


def find_sent_breaks(pairs: Pairs) -> Iterator[Finding]:
    """Yield removed events, and missing parts of their payloads."""
    kept = {
        pairs.old_name("webhooks", name): webhook for name, webhook in pairs.head.webhooks.items()
    }
    for name, base in sorted(pairs.base.webhooks.items()):
        subject, head = f"webhook {name}", kept.get(name)
        if head is None:
            message = "is no longer sent"
            yield finding("webhook-event-removed", subject, message, base.place("events"))
        else:
            yield from _of_events(subject, base, head)


def _of_events(
    subject: str, base: Resource[Webhook], head: Resource[Webhook]
) -> Iterator[Finding]:  # fmt: skip
    for event, sent in base.model.events.items():
        after = head.model.events.get(event)
        if after is None:
            message = f"the event '{event}' is no longer sent"
            yield finding("webhook-event-removed", subject, message, head.place("events"))
            continue
        place = head.place("events", event, key=True)
        for code, message in schema_breaks(shape_schema(sent), shape_schema(after)):
            yield finding(code, subject, f"{event}: {message}", place)


def find_added_receivers(pairs: Pairs) -> Iterator[Finding]:
    """Yield receivers that are new, and rows of tables that are receivers now."""
    for name, head in sorted(pairs.head.webhooks.items()):
        base = pairs.base.webhooks.get(pairs.old_name("webhooks", name))
        if isinstance(head.model.receivers, ReceiverTable):
            yield from _of_table(pairs, base, head, head.model.receivers)
        else:
            yield from _of_list(base, head)


def _of_list(base: Resource[Webhook] | None, head: Resource[Webhook]) -> Iterator[Finding]:
    before = base.model.receivers if base else []
    known = (
        set[str]() if isinstance(before, ReceiverTable) else {receiver.id for receiver in before}
    )
    receivers = head.model.receivers
    for at, receiver in enumerate(() if isinstance(receivers, ReceiverTable) else receivers):
        if receiver.id not in known:
            message = f"sends {_events(head)} to '{receiver.id}'"
            place = head.place("receivers", at, "url")
            yield finding("receiver-added", f"webhook {head.name}", message, place)


def _of_table(
    pairs: Pairs, base: Resource[Webhook] | None, head: Resource[Webhook], now: ReceiverTable
) -> Iterator[Finding]:
    was = base.model.receivers if base else None
    is_same = isinstance(was, ReceiverTable) and (pairs.new_name("tables", was.table) == now.table)
    if is_same and isinstance(was, ReceiverTable) and was.owner == now.owner:
        return
    rows = (
        f"rows of '{now.table}', by their '{now.owner}'"
        if now.owner
        else f"all rows of '{now.table}'"
    )
    message = f"sends {_events(head)} to {rows}"
    yield finding("receiver-added", f"webhook {head.name}", message, head.place("receivers"))


def _events(webhook: Resource[Webhook]) -> str:
    return ", ".join(webhook.model.events)
