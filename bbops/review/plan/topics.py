"""Find the effects on topics: more access, and breaks for their clients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bbops.language.expressions.inside import conjuncts
from bbops.language.expressions.nodes import Literal
from bbops.language.expressions.values import Expression
from bbops.language.project import Resource
from bbops.language.resources.realtime import Realtime, Rows
from bbops.review.contract.topics import messages
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
