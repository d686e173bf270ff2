"""Receivers of webhooks: their table has what sending needs, and none is listed twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from bbops.base.diagnostics import Diagnostic, suggest
from bbops.language.project import Project, Resource
from bbops.language.resources.webhook import FixedReceiver, ReceiverTable, Webhook
from bbops.language.sql.types import SqlColumn, SqlTable

CODE: Final = "receivers-table"
KEYS: Final = frozenset({"uuid", "integer", "bigint", "string", "text"})
"""Types of columns that keys and owners of receivers may have."""

_TEXTS: Final = frozenset({"string", "text"})
_HINT: Final = (
    "receivers have the columns url, secret (private), events (json) and disabled_at (datetime,"
    " nullable)"
)


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield what is wrong with the receivers of webhooks."""
    for webhook in project.webhooks.values():
        receivers = webhook.model.receivers
        if not isinstance(receivers, ReceiverTable):
            yield from _fixed(webhook, receivers)
        elif receivers.table in project.stored_tables:
            yield from _table(webhook, receivers, project.stored_tables[receivers.table])


def _fixed(webhook: Resource[Webhook], receivers: list[FixedReceiver]) -> Iterator[Diagnostic]:
    seen = set[str]()
    for number, one in enumerate(receivers):
        if one.id in seen:
            yield Diagnostic(
                webhook.place("receivers", number, "url"), "bad-value",
                f"two receivers have the address '{one.id}'", "remove one of them",
            )  # fmt: skip
        seen.add(one.id)


def _table(
    webhook: Resource[Webhook], receivers: ReceiverTable, table: SqlTable
) -> Iterator[Diagnostic]:
    place = webhook.place("receivers", "table")
    if len(table.key) != 1 or table.columns[table.key[0]].type not in KEYS:
        yield Diagnostic(
            place, CODE, f"table '{table.name}' has no single primary key of text or whole numbers",
            "receivers are known by one column",
        )  # fmt: skip
    for name, (fits, what) in _COLUMNS.items():
        column = table.columns.get(name)
        if column is None:
            message = f"table '{table.name}' has no column '{name}'"
            yield Diagnostic(place, CODE, message, suggest(name, table.columns) or _HINT)
        elif not fits(column):
            message = f"column '{table.name}.{name}' must be {what}, found {_found(column)}"
            yield Diagnostic(place, CODE, message, _HINT)
    if receivers.owner is not None:
        yield from _owner(webhook, receivers.owner, table)


def _owner(webhook: Resource[Webhook], owner: str, table: SqlTable) -> Iterator[Diagnostic]:
    column, place = table.columns.get(owner), webhook.place("receivers", "owner")
    if column is None:
        message = f"table '{table.name}' has no column '{owner}'"
        hint = suggest(owner, table.columns) or f"it has {', '.join(table.columns)}"
        yield Diagnostic(place, "unknown-column", message, hint)
    elif column.type not in KEYS:
        message = f"the owner of receivers is text or a whole number, found {column.type}"
        yield Diagnostic(place, CODE, message, "name the column that refers to their owner")


def _found(column: SqlColumn) -> str:
    words = [column.type, *(["nullable"] if column.nullable else [])]
    return ", ".join([*words, *(["private"] if column.private else ["not private"])])


_COLUMNS: Final[dict[str, tuple[Any, str]]] = {
    "url": (lambda one: one.type in _TEXTS and not one.nullable, "text that is not null"),
    "secret": (
        lambda one: one.type in _TEXTS and one.private and not one.nullable,
        "private text that is not null",
    ),
    "events": (lambda one: one.type == "json", "json"),
    "disabled_at": (lambda one: one.type == "datetime" and one.nullable, "a nullable datetime"),
}
