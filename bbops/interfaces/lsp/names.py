"""Which places of a file hold a name of something else: a function, a table, a column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bbops.base.names import INLINE
from bbops.interfaces.lsp.slots import Path, node_at
from bbops.language.expressions.types import Type
from bbops.language.loading.load import kinds, model_of
from bbops.language.project import Project, Resource
from bbops.language.resources._crud import is_crud
from bbops.language.resources._kind import references_of
from bbops.language.shape import Shape
from bbops.language.sql.types import Table
from bbops.language.steps._base import Step

_BY_KEY = {
    "table": "tables", "function": "functions", "channels": "channels", "realtime": "realtime",
    "addon": "addons",
}  # fmt: skip
"""Of steps, and of the model of an agent."""
CODE = frozenset({"functions", "endpoints"})
"""Kinds of files in which steps stand."""
_COLUMNS = frozenset({"select", "orderBy", "columns", "primaryKey", "groupBy"})
_GIVEN = frozenset({"input", "params", "query"})


@dataclass(frozen=True, slots=True)
class Named:
    """A kind of name: `group` is a resource's folder, `columns` or `fields`.

    `within` is the table whose columns, or the function whose fields, are meant.
    """

    group: str
    within: str = ""
    part: str = ""


def named_at(folder: str, name: str, root: Any, path: Path, *, is_key: bool) -> Named | None:
    """Return what the name at a place of a file is a name of; None for no name.

    Args:
        folder: the kind of the file, with the resource's `name`.
    """
    if folder == "endpoints" and is_crud(root):
        return _of_crud(name, root, path, is_key=is_key)
    if is_key:
        return _of_own_steps(folder, path) or _key(folder, name, root, path[:-1])
    keys = [part for part in path if isinstance(part, str)]
    if not keys:
        return None
    last = keys[-1]
    for reference in references_of(kinds()[folder]):
        if reference.fits(path):
            return Named(reference.folder)
    if folder in {"endpoints", "channels"} and keys == ["roles"]:
        return Named("roles")
    if last == "like" and len(keys) > 1 and (keys[0] in _LIKE or "shape" in keys):
        return Named("like")
    if _is_in_value(folder, path):
        return None
    if folder in CODE and last == "event":
        return Named("events", str(node_at(root, path[:-1]).get("realtime", "")))
    if last in _COLUMNS:
        return _columns(folder, name, root, path)
    if last == "relation" and folder == "functions":
        found = in_table(root, path)
        return None if found is None else Named("relations", found.within)
    if folder == "tables" and last == "references":
        return Named("references")
    return Named(_BY_KEY[last]) if last in _BY_KEY else None


def _of_crud(name: str, root: Any, path: Path, *, is_key: bool) -> Named | None:
    """Return what a name of a file about a table is: most are its columns."""
    table = Named("columns", str(root.get("table", "")))
    inside = path[2:] if path[:1] == ("actions",) else path
    if is_key:
        return table if len(inside) == 2 and inside[0] in {"match", "set", "filter"} else None
    for reference in references_of(model_of("endpoints", name, root)):
        if reference.fits(path):
            return Named(reference.folder)
    if inside == ("owner",) or (len(inside) == 2 and inside[0] in {"input", "filter", "sort"}):
        return table
    return in_table(root, path) if "select" in inside[:1] else None


OWN_STEPS = "ownSteps"
"""The group of steps of the project's own addons, such as `billing.createRefund`."""
_MOCKED = frozenset({"mocks", "calls"})


def _of_own_steps(folder: str, path: Path) -> Named | None:
    """Return what a key is that may be a step of an own addon, or one of its parameters."""
    *_, last = path
    above = path[-2] if len(path) > 1 else None
    if folder == "tests" and above in _MOCKED:
        return Named(OWN_STEPS)
    if folder not in CODE or path[:1] != ("steps",):
        return None
    if isinstance(above, int) and "." in str(last):
        return Named(OWN_STEPS)
    is_inside = len(path) > 2 and isinstance(path[-3], int) and "." in str(above)
    return Named("parameters", str(above)) if is_inside else None


SHAPES = frozenset({"input", "query", "params", "payload", "output", "events"})
_LIKE = SHAPES | {"columns"}
"""Keys of files below which fields stand."""


def code_of(folder: str, name: str) -> str:
    """Return the name of the function that the steps of a file are; empty where it has none."""
    if folder == "endpoints":
        return f"{INLINE}{name}"
    return name if folder == "functions" else ""


def _is_in_value(folder: str, path: Path) -> bool:
    """Return whether the keys on the way are the author's own: of data, shapes and answers."""
    inner = path[:-1]
    own = {"data", "value", "set", "body", "headers"} if folder in CODE else set()
    return any(part in own for part in inner) or (folder in CODE and path[:1] != ("steps",))


def _columns(folder: str, name: str, root: Any, path: Path) -> Named | None:
    if folder == "tables":
        return Named("columns", name) if path[0] in {"primaryKey", "indexes"} else None
    return in_table(root, path)


def in_table(root: Any, path: Path) -> Named | None:
    """Return the columns of the table that the nearest map around a place names."""
    relations: list[str] = []
    for size in range(len(path) - 1, -1, -1):
        around = node_at(root, path[:size])
        if isinstance(around, dict) and isinstance(around.get("table"), str):
            return Named("columns", str(around["table"]), ".".join(reversed(relations)))
        if (
            size
            and isinstance(around, dict)
            and path[size - 1] == "find"
            and path[-1] != "relation"
        ):
            relations += reversed(str(around.get("relation")).split("."))
    return None


def _key(folder: str, name: str, root: Any, path: Path) -> Named | None:
    """Return what the keys of the map at `path` are names of."""
    keys = [part for part in path if isinstance(part, str)]
    if folder == "tables" and keys == ["seed"]:
        return Named("columns", name)
    if folder == "tests" and keys[:1] == ["data"]:
        return Named("tables") if len(keys) == 1 else Named("columns", keys[1])
    if keys[-1:] in (["data"], ["do"]) and folder in CODE:
        return in_table(root, path)
    if len(keys) > 1 and keys[-2] in {"emit", "publish"}:
        around = node_at(root, path[:-1])
        topic, event = str(around.get("realtime", "")), str(around.get("event"))
        return Named(keys[-1], topic, event) if keys[-1] in {"payload", "params"} else None
    if len(keys) > 1 and keys[-2] in {"call", "enqueue"} and keys[-1] in _GIVEN:
        function = node_at(root, (*path[:-1], "function"))
        return Named("fields", str(function), keys[-1])
    return None


def known(project: Project, named: Named) -> dict[str, str]:
    """Return the names there are, each with a word about it."""
    if named.group == "columns":
        table = table_of(project, named)
        return {n: str(c.value_type) for n, c in table.columns.items()} if table else {}
    if named.group == "relations":
        table = project.sql_tables.get(named.within)
        return {name: one.table for name, one in table.children.items()} if table else {}
    if named.group == "fields":
        function = project.functions.get(named.within)
        shape = (getattr(function.model, named.part) or {}) if function else {}
        return {n.rstrip("?"): field.type or "object" for n, field in shape.items()}
    if named.group == "parameters":
        action = project.own_actions.get(named.within)
        return {name: str(of) for name, of in action.parameters.items()} if action else {}
    if named.group in {"events", "payload", "params"}:
        return _sent(project, named)
    if named.group == "roles":
        auth = project.settings.model.auth
        users = project.sql_tables.get(auth.users or "") if auth else None
        role = users.columns.get("role") if users else None
        return {one: "" for one in role.enum if isinstance(one, str)} if role else {}
    if named.group == "like":
        return {
            f"{table.name}.{name}": str(column.value_type)
            for table in project.stored_tables.values() for name, column in table.columns.items()
        }  # fmt: skip
    if named.group == "references":
        return {
            f"{table.name}.{column}": str(table.columns[column].value_type)
            for table in project.sql_tables.values() for column in _unique(table.uniques)
        }  # fmt: skip
    return {name: describe(one) for name, one in resources(project, named.group).items()}


def table_of(project: Project, named: Named) -> Table | None:
    """Return the table whose columns are meant: of nested lists the one at their end."""
    table = project.sql_tables.get(named.within)
    for name in named.part.split(".") if named.part and named.group == "columns" else ():
        if table is None:
            return None
        one = table.relations.get(name) or table.children.get(name)
        table = table.tables[one.table] if one is not None else None
    return table


def known_of_relations(project: Project, named: Named) -> dict[str, str]:
    """Return the columns of the rows that a table's relations lead to, as `author.name`."""
    table = table_of(project, named)
    if table is None:
        return {}
    return {
        f"{relation}.{name}": str(column.value_type) for relation, one in table.relations.items()
        for name, column in table.tables[one.table].columns.items() if not column.private
    }  # fmt: skip


def _sent(project: Project, named: Named) -> dict[str, str]:
    """Return the events of a topic or of triggers, or what one of them carries."""
    topic = project.realtime.get(named.within)
    if named.group == "params":
        return dict.fromkeys(topic.model.parameters, "text") if topic else {}
    events: dict[str, Shape | None] = dict(topic.model.events) if topic else {}
    for trigger in () if named.within else project.triggers.values():
        function = project.functions.get(trigger.model.function)
        for event in trigger.model.event or ():
            events[event] = function.model.payload if function else None
    if named.group == "events":
        return dict.fromkeys(events, "")
    return {n.rstrip("?"): f.type or "object" for n, f in (events.get(named.part) or {}).items()}


def _unique(uniques: Iterable[frozenset[str]]) -> list[str]:
    return [name for one in uniques if len(one) == 1 for name in one]


def resources(project: Project, folder: str) -> Mapping[str, Resource[Any]]:
    """Return the resources of a folder by their names."""
    if folder == OWN_STEPS:
        return {
            f"{addon}.{name}": one
            for addon, steps in project.own_steps.items() for name, one in steps.items()
        }  # fmt: skip
    return project.resources.get(folder, {})


def describe(resource: Resource[Any]) -> str:
    """Return what a resource says of itself."""
    model = resource.model
    said = (getattr(model, key, None) for key in ("description", "title", "name"))
    return next(filter(None, said), "")


def setters(steps: Iterable[Step], variable: str) -> Iterable[Step]:
    """Yield the steps that set a variable, at any depth."""
    for step in steps:
        if variable in step.sets():
            yield step
        for block in step.blocks():
            yield from setters(block, variable)


def fields_of(of: Type | None) -> Mapping[str, Type]:
    """Return the fields of a map, as far as they are known."""
    return (of.fields or {}) if of is not None else {}
