"""Which places of a file hold a name of something else: a function, a table, a column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bbops.interfaces.lsp.slots import Path, node_at
from bbops.language.expressions.types import Type
from bbops.language.loading.load import kinds
from bbops.language.project import Project, Resource
from bbops.language.resources._kind import references_of
from bbops.language.shape import Shape
from bbops.language.steps._base import Step

_BY_KEY = {
    "table": "tables", "function": "functions", "channels": "channels", "realtime": "realtime",
    "addon": "addons",
}  # fmt: skip
"""Of steps, and of the model of an agent."""
_COLUMNS = frozenset({"select", "orderBy", "columns", "primaryKey"})
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
    if is_key:
        return _key(folder, name, root, path[:-1])
    keys = [part for part in path if isinstance(part, str)]
    if not keys:
        return None
    last = keys[-1]
    for reference in references_of(kinds()[folder]):
        if reference.fits(path):
            return Named(reference.folder)
    if _is_in_value(folder, path):
        return None
    if folder == "functions" and last == "event":
        return Named("events", str(node_at(root, path[:-1]).get("realtime", "")))
    if last in _COLUMNS:
        return _columns(folder, name, root, path)
    if folder == "tables" and last == "references":
        return Named("references")
    return Named(_BY_KEY[last]) if last in _BY_KEY else None


def _is_in_value(folder: str, path: Path) -> bool:
    """Return whether the keys on the way are the author's own: of data, shapes and answers."""
    inner = path[:-1]
    own = {"data", "value", "set", "body", "headers"} if folder == "functions" else set()
    return any(part in own for part in inner) or (
        folder == "functions" and path[:1] != ("steps",)
    )  # fmt: skip


def _columns(folder: str, name: str, root: Any, path: Path) -> Named | None:
    if folder == "tables":
        return Named("columns", name) if path[0] in {"primaryKey", "indexes"} else None
    return in_table(root, path)


def in_table(root: Any, path: Path) -> Named | None:
    """Return the columns of the table that the nearest map around a place names."""
    for size in range(len(path) - 1, 0, -1):
        around = node_at(root, path[:size])
        if isinstance(around, dict) and isinstance(around.get("table"), str):
            return Named("columns", str(around["table"]))
    return None


def _key(folder: str, name: str, root: Any, path: Path) -> Named | None:
    """Return what the keys of the map at `path` are names of."""
    keys = [part for part in path if isinstance(part, str)]
    if folder == "tables" and keys == ["seed"]:
        return Named("columns", name)
    if folder == "tests" and keys[:1] == ["data"]:
        return Named("tables") if len(keys) == 1 else Named("columns", keys[1])
    if keys[-1:] in (["data"], ["do"]) and folder == "functions":
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
        table = project.sql_tables.get(named.within)
        return {n: str(c.value_type) for n, c in table.columns.items()} if table else {}
    if named.group == "fields":
        function = project.functions.get(named.within)
        shape = (getattr(function.model, named.part) or {}) if function else {}
        return {n.rstrip("?"): field.type or "object" for n, field in shape.items()}
    if named.group in {"events", "payload", "params"}:
        return _sent(project, named)
    if named.group == "references":
        return {
            f"{table.name}.{column}": str(table.columns[column].value_type)
            for table in project.sql_tables.values() for column in _unique(table.uniques)
        }  # fmt: skip
    return {name: describe(one) for name, one in resources(project, named.group).items()}


def known_of_relations(project: Project, named: Named) -> dict[str, str]:
    """Return the columns of the rows that a table's relations lead to, as `author.name`."""
    table = project.sql_tables.get(named.within)
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
    return project.resources.get(folder, {})


def describe(resource: Resource[Any]) -> str:
    """Return what a resource says of itself."""
    model = resource.model
    return getattr(model, "description", None) or getattr(model, "name", None) or ""


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
