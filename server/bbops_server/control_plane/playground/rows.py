"""Rows of a draft that fit a field of the Playground's form: the other side of a relation."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import msgspec
from litestar.params import FromPath, QueryParameter

from bbops.review.contract.form_fields import FormField
from bbops.review.contract.sessions import endpoint_name
from bbops.review.outline.outline import ColumnOutline, Outline, TableOutline
from bbops.runtime.flow.masking import is_hidden
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.playground.sending import PlaygroundTarget
from bbops_server.control_plane.projects.visited_project import DRAFT, VisitedProject
from bbops_server.control_plane.web.routes import read
from bbops_server.control_plane.web.visit import Here
from bbops_server.process.messages.drafts import ListDraftRows

MAX_ROWS: Final = 50
MAX_TABLES: Final = 5
"""Tables whose rows one form offers."""
USERS: Final = "user"
"""The field of the user to sign in as."""
MAX_LABELS: Final = 3
"""Columns that people know a row by."""
_LABELS: Final = ("name", "title", "label", "email", "slug", "code", "subject", "role")
_TEXTS: Final = frozenset({"string", "text"})


class RowChoice(msgspec.Struct, frozen=True):
    """A row that a field can name: its key, and the columns that people know it by."""

    key: str
    label: str


@dataclass(frozen=True, slots=True)
class RowSource:
    """The rows that a field offers: a table, its primary key, and columns to know them by."""

    table: str
    key: str
    labels: tuple[str, ...]


def find_sources(
    outline: Outline, endpoint: str, fields: Sequence[FormField]
) -> dict[str, RowSource]:
    """Return the tables whose rows the fields of an endpoint name, by the name of the field.

    A field names a row if it has the name of a foreign key in a table that the endpoint uses. A
    path parameter also does with the name of the primary key, if one of these tables has it; of
    several tables, the table with the name before the parameter in the path.
    """
    tables = {table.name: table for table in outline.tables}
    route = next((each for each in outline.endpoints if each.name == endpoint), None)
    if route is None:
        return {}
    known = [tables[name] for name in route.tables if name in tables]
    found: dict[str, RowSource] = {}
    for item in fields:
        target = _target(item, known, tables, route.path)
        source = _source(target) if target is not None else None
        if source is not None and item.widget in {"text", "number"}:
            found[item.name] = source
    return found


def find_users(outline: Outline) -> RowSource | None:
    """Return the rows of the users table; None without one."""
    table = next((table for table in outline.tables if table.name == outline.users), None)
    return _source(table) if table is not None else None


async def read_choices(target: PlaygroundTarget, endpoint: str) -> dict[str, list[RowChoice]]:
    """Return the rows that each field of an endpoint's form offers; empty for live.

    The draft is woken. Rows of its users have the field name `user`. At most 50 rows of 5 tables.

    Raises:
        HTTPException: the draft does not respond.
    """
    visit, draft = target.visit, target.draft
    if draft is None or not visit.may(Permission.PUSH_DRAFT, target.project):
        return {}
    outline = (await visit.control.outlines.find(target.project, draft.slug)).outline
    if outline is None:
        return {}
    fields = target.form(target.operation(endpoint)).fields
    sources = find_sources(outline, endpoint, fields)
    users = find_users(outline)
    wanted = {**({USERS: users} if users is not None else {}), **sources}
    rows = await _read(VisitedProject.open_draft(visit, target.project, draft.slug), wanted)
    return {name: rows[source] for name, source in wanted.items() if rows.get(source)}


async def _read(
    project: VisitedProject, wanted: Mapping[str, RowSource]
) -> dict[RowSource, list[RowChoice]]:
    """Return the rows of each table; all tables are read at once. Raises: as `read_choices`."""
    sources = [*dict.fromkeys(wanted.values())][:MAX_TABLES]
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_read_table(project, source)) for source in sources]
    except ExceptionGroup as errors:  # of a draft that does not respond, each is the same
        raise errors.exceptions[0] from None
    return {source: task.result() for source, task in zip(sources, tasks, strict=True)}


async def _read_table(project: VisitedProject, source: RowSource) -> list[RowChoice]:
    answer = await project.ask(
        ListDraftRows, source.table, source.key, [*source.labels], MAX_ROWS
    )  # fmt: skip
    return [RowChoice(key, " · ".join(filter(None, labels))) for key, labels in answer.rows]


# ---- relations
def _target(
    item: FormField, used: Sequence[TableOutline], tables: Mapping[str, TableOutline], path: str
) -> TableOutline | None:
    for table in used:
        for column in table.columns:
            if column.name == item.label and column.references:
                return tables.get(column.references.rpartition(".")[0])
    if item.place != "path":
        return None
    owners = [table for table in used if _key(table) == item.label]
    named = [table for table in owners if f"/{table.name}/:{item.label}" in path]
    return next(iter(named or owners), None) if len(named or owners) == 1 else None


def _source(table: TableOutline) -> RowSource | None:
    key = _key(table)
    return RowSource(table.name, key, _labels(table)) if key else None


def _key(table: TableOutline) -> str:
    """Return the column of the primary key; empty if it has several columns or is private."""
    keys = [column for column in table.columns if column.is_primary]
    return keys[0].name if len(keys) == 1 and not keys[0].is_private else ""


def _labels(table: TableOutline) -> tuple[str, ...]:
    """Return the columns that people know a row by, the best one first; never a secret one."""
    texts = [column.name for column in table.columns if _is_label(column)]
    known = [name for name in _LABELS if name in texts]
    return tuple((known or texts[:1])[:MAX_LABELS])


def _is_label(column: ColumnOutline) -> bool:
    is_plain = not (column.is_private or column.is_primary or column.computed)
    return is_plain and not is_hidden(column.name) and column.type.rstrip("?") in _TEXTS


# ---- the API
@read(f"{DRAFT}/playground/rows", Permission.PUSH_DRAFT)
async def list_choices(
    visit: Here, name: FromPath[str], slug: FromPath[str],
    endpoint: Annotated[str, QueryParameter(min_length=1, max_length=400)],
) -> dict[str, list[RowChoice]]:  # fmt: skip
    """Rows of the draft that the fields of an endpoint's form can name, by the field's name."""
    target = await PlaygroundTarget.open(visit, name, slug)
    operation = target.operation(endpoint)
    return await read_choices(target, endpoint_name(operation.id))


ROUTES = (list_choices,)
