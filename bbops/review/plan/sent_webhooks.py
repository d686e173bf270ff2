"""Find webhooks that a project no longer sends, and their new receivers."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.language.json_schema import shape_schema
from bbops.language.project import Resource
from bbops.language.resources.webhook import ReceiverTable, Webhook
from bbops.review.plan.changes import Pairs
from bbops.review.plan.codes import Finding, finding
from bbops.review.plan.requests import schema_breaks


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
    for event, shape in base.model.events.items():
        after = head.model.events.get(event)
        if after is None:
            message = f"the event '{event}' is no longer sent"
            yield finding("webhook-event-removed", subject, message, head.place("events"))
            continue
        place = head.place("events", event, key=True)
        for code, message in schema_breaks(shape_schema(shape), shape_schema(after)):
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
