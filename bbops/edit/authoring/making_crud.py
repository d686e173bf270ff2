"""Make the file of a table's routes, with every list written out to choose from."""

from __future__ import annotations

from typing import Final

from bbops.base.diagnostics import suggest_resource
from bbops.base.errors import BbopsError
from bbops.compiler.check import validate
from bbops.edit.authoring.changing import Change, ChangedTree
from bbops.edit.authoring.formatting import format_file
from bbops.edit.authoring.naming import Name
from bbops.edit.authoring.writing import write_file
from bbops.language.project import Project
from bbops.language.resources._crud import MOST_FILTERS, RESERVED
from bbops.language.resources.table import Column, Table

_CHOSEN: Final = frozenset({"boolean", "integer", "bigint", "datetime", "date", "uuid"})
"""Types that requests usually filter by; of texts those with an `enum`."""
_OWNERS: Final = ("user_id", "owner_id", "author_id", "created_by")


def make_crud(change: Change, table: str) -> None:
    """Add the routes of a table.

    Raises:
        BbopsError: there is no such table, or its file of endpoints is there already.
    """
    project, found = validate(ChangedTree(change.folder.tree, change.files))
    if project is None:
        wrong = next(one for one in found if one.severity == "error")
        raise BbopsError("the project has errors", hint=f"first correct {wrong.place}")
    if table not in project.tables:
        hint = suggest_resource(table, "tables", project.tables)
        raise BbopsError(f"there is no table '{table}'", hint=hint)
    name = Name("endpoints", table.replace("_", "-"))
    if change.exists(name):
        raise BbopsError(f"there is a '{name.file}' already", hint="'bbops set' changes it")
    text = write_file(_body(project, table, name.name)).encode()
    change.files[name.file] = format_file(name.file, text).text.encode()


def _body(project: Project, name: str, path: str) -> dict[str, object]:
    table = project.tables[name].model
    auth = project.settings.model.auth
    users = auth.users if auth is not None else None
    owner = next((one for one in _OWNERS if _leads_to(table.columns.get(one), users)), None)
    given = [one for one in table.columns if one != owner and table.columns[one].auto is None]
    shown = [one for one, column in table.columns.items() if not column.private]
    orders = [f"{one}.desc" for one in shown if table.columns[one].auto == "created"]
    changed = [one for one in given if one in shown and one not in table.key]
    given = [one for one in given if one in shown or table.columns[one].default is None]
    return {
        "table": name, "path": f"/{path}",
        "authentication": "None" if auth is None else "JWT",
        **({"owner": owner} if owner is not None and auth is not None else {}),
        "description": f"{name.replace('_', ' ').capitalize()}.",
        "select": shown,
        "actions": {
            "list": {
                "filter": _filters(table, shown, owner), "sort": [*orders, *table.key],
                "limit": 20, "maxLimit": 100,
            },
            "get": {},
            "create": {"input": given} if given else {},
            **({"update": {"input": changed}} if changed else {}),
            "delete": {},
        },
    }  # fmt: skip


def _leads_to(column: Column | None, users: str | None) -> bool:
    to = (column.references or "").partition(".")[0] if column is not None else ""
    return bool(to) and to == users


def _filters(table: Table, shown: list[str], owner: str | None) -> list[str]:
    found = [
        one for one in shown
        if (table.columns[one].type in _CHOSEN or table.columns[one].enum) and one != owner
        and one not in table.key and one not in RESERVED
    ]  # fmt: skip
    return found[:MOST_FILTERS]
