"""Find the names in a file that refer to something else: a function, a table, a column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bbops.base.names import INLINE
from bbops.interfaces.lsp.schema import Path, node_at
from bbops.language.expressions.types import Type
from bbops.language.loading.load import kinds, model_of
from bbops.language.project import Project, Resource
from bbops.language.resources._crud import is_crud
from bbops.language.resources._kind import references_of
from bbops.language.shape import Shape
from bbops.language.sql.types import SqlTable
from bbops.language.steps._base import Step

_BY_KEY = {
    "table": "tables", "function": "functions", "channels": "channels", "realtime": "realtime",
    "addon": "addons",
}  # fmt: skip
"""The folders of names, by key of a step or of an agent's model."""
CODE = frozenset({"functions", "endpoints"})
"""Kinds of files that contain steps."""
_COLUMNS = frozenset({"select", "orderBy", "columns", "primaryKey", "groupBy"})
_ARGUMENTS = frozenset({"input", "params", "query"})


@dataclass(frozen=True, slots=True)
class NameKind:
    """The kind of a name: `group` is a resource's folder, `columns` or `fields`.

    `within` is the table of the columns, or the function of the fields.
    """

    group: str
    within: str = ""
    part: str = ""


def name_kind_at(folder: str, name: str, root: Any, path: Path, *, is_key: bool) -> NameKind | None:
    """Return the kind of the name at a path of a file; None without a name.

    Args:
        folder: the kind of the file.
            name: the name of its resource.
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
            return NameKind(reference.folder)
    if folder in {"endpoints", "channels"} and keys == ["roles"]:
        return NameKind("roles")
    if last == "like" and len(keys) > 1 and (keys[0] in _LIKE or "shape" in keys):
        return NameKind("like")
    if _is_in_value(folder, path):
        return None
    if folder in CODE and last == "event":
        return NameKind("events", str(node_at(root, path[:-1]).get("realtime", "")))
    if last in _COLUMNS:
        return _columns(folder, name, root, path)
    if last == "relation" and folder == "functions":
        columns = in_table(root, path)
        return None if columns is None else NameKind("relations", columns.within)
    if folder == "tables" and last == "references":
        return NameKind("references")
    return NameKind(_BY_KEY[last]) if last in _BY_KEY else None


def _of_crud(name: str, root: Any, path: Path, *, is_key: bool) -> NameKind | None:
    """Return the kind of a name in a file about a table: most are columns of the table."""
    table = NameKind("columns", str(root.get("table", "")))
    inner = path[2:] if path[:1] == ("actions",) else path
    if is_key:
        return table if len(inner) == 2 and inner[0] in {"match", "set", "filter"} else None
    for reference in references_of(model_of("endpoints", name, root)):
        if reference.fits(path):
            return NameKind(reference.folder)
    if inner == ("owner",) or (len(inner) == 2 and inner[0] in {"input", "filter", "sort"}):
        return table
    return in_table(root, path) if "select" in inner[:1] else None


OWN_STEPS = "ownSteps"
"""The group of the steps of the project's own addons, such as `billing.createRefund`."""
_MOCKED = frozenset({"mocks", "calls"})


def _of_own_steps(folder: str, path: Path) -> NameKind | None:
    """Return the kind of a key that may be a step of an own addon, or one of its parameters."""
    *_, last = path
    parent = path[-2] if len(path) > 1 else None
    if folder == "tests" and parent in _MOCKED:
        return NameKind(OWN_STEPS)
    if folder not in CODE or path[:1] != ("steps",):
        return None
    if isinstance(parent, int) and "." in str(last):
        return NameKind(OWN_STEPS)
    is_parameter = len(path) > 2 and isinstance(path[-3], int) and "." in str(parent)
    return NameKind("parameters", str(parent)) if is_parameter else None


SHAPES = frozenset({"input", "query", "params", "payload", "output", "events"})
_LIKE = SHAPES | {"columns"}
"""Keys that contain fields."""


def code_of(folder: str, name: str) -> str:
    """Return the name of the function with the steps of a file; empty without steps."""
    if folder == "endpoints":
        return f"{INLINE}{name}"
    return name if folder == "functions" else ""


def _is_in_value(folder: str, path: Path) -> bool:
    """Return whether a path has keys that the author chose: of data, shapes and responses."""
    inner = path[:-1]
    own = {"data", "value", "set", "body", "headers"} if folder in CODE else set()
    return any(part in own for part in inner) or (folder in CODE and path[:1] != ("steps",))


def _columns(folder: str, name: str, root: Any, path: Path) -> NameKind | None:
    if folder == "tables":
        return NameKind("columns", name) if path[0] in {"primaryKey", "indexes"} else None
    return in_table(root, path)


def in_table(root: Any, path: Path) -> NameKind | None:
    """Return the columns of the table that the nearest map around a path names."""
    relations: list[str] = []
    for size in range(len(path) - 1, -1, -1):
        parent = node_at(root, path[:size])
        if isinstance(parent, dict) and isinstance(parent.get("table"), str):
            return NameKind("columns", str(parent["table"]), ".".join(reversed(relations)))
        if (
            size
            and isinstance(parent, dict)
            and path[size - 1] == "find"
            and path[-1] != "relation"
        ):
            relations += reversed(str(parent.get("relation")).split("."))
    return None


def _key(folder: str, name: str, root: Any, path: Path) -> NameKind | None:
    """Return the kind of the keys of the map at `path`."""
    keys = [part for part in path if isinstance(part, str)]
    if folder == "tables" and keys == ["seed"]:
        return NameKind("columns", name)
    if folder == "tests" and keys[:1] == ["data"]:
        return NameKind("tables") if len(keys) == 1 else NameKind("columns", keys[1])
    if keys[-1:] in (["data"], ["do"]) and folder in CODE:
        return in_table(root, path)
    if len(keys) > 1 and keys[-2] in {"emit", "publish"}:
        parent = node_at(root, path[:-1])
        topic, event = str(parent.get("realtime", "")), str(parent.get("event"))
        return NameKind(keys[-1], topic, event) if keys[-1] in {"payload", "params"} else None
    if len(keys) > 1 and keys[-2] in {"call", "enqueue"} and keys[-1] in _ARGUMENTS:
        function = node_at(root, (*path[:-1], "function"))
        return NameKind("fields", str(function), keys[-1])
    return None


def list_names(project: Project, kind: NameKind) -> dict[str, str]:
    """Return the existing names of a kind, each with a short description."""
    if kind.group == "columns":
        table = table_of(project, kind)
        return {n: str(c.value_type) for n, c in table.columns.items()} if table else {}
    if kind.group == "relations":
        table = project.sql_tables.get(kind.within)
        return {name: rel.table for name, rel in table.children.items()} if table else {}
    if kind.group == "fields":
        function = project.functions.get(kind.within)
        shape = (getattr(function.model, kind.part) or {}) if function else {}
        return {n.rstrip("?"): field.type or "object" for n, field in shape.items()}
    if kind.group == "parameters":
        action = project.own_actions.get(kind.within)
        return {name: str(value) for name, value in action.parameters.items()} if action else {}
    if kind.group in {"events", "payload", "params"}:
        return _sent(project, kind)
    if kind.group == "roles":
        auth = project.settings.model.auth
        users = project.sql_tables.get(auth.users or "") if auth else None
        role = users.columns.get("role") if users else None
        return {text: "" for text in role.enum if isinstance(text, str)} if role else {}
    if kind.group == "like":
        return {
            f"{table.name}.{name}": str(column.value_type)
            for table in project.stored_tables.values() for name, column in table.columns.items()
        }  # fmt: skip
    if kind.group == "references":
        return {
            f"{table.name}.{column}": str(table.columns[column].value_type)
            for table in project.sql_tables.values() for column in _unique(table.uniques)
        }  # fmt: skip
    return {name: describe(item) for name, item in resources(project, kind.group).items()}


def table_of(project: Project, kind: NameKind) -> SqlTable | None:
    """Return the table of the columns; for nested lists the innermost one."""
    table = project.sql_tables.get(kind.within)
    for name in kind.part.split(".") if kind.part and kind.group == "columns" else ():
        if table is None:
            return None
        relation = table.relations.get(name) or table.children.get(name)
        table = table.tables[relation.table] if relation is not None else None
    return table


def list_relation_columns(project: Project, kind: NameKind) -> dict[str, str]:
    """Return the columns of related rows, as `author.name`."""
    table = table_of(project, kind)
    if table is None:
        return {}
    return {
        f"{name}.{column}": str(definition.value_type)
        for name, relation in table.relations.items()
        for column, definition in table.tables[relation.table].columns.items()
        if not definition.private
    }  # fmt: skip


def _sent(project: Project, kind: NameKind) -> dict[str, str]:
    """Return the events of a topic or of triggers, or the fields of an event's payload."""
    topic = project.realtime.get(kind.within)
    if kind.group == "params":
        return dict.fromkeys(topic.model.parameters, "text") if topic else {}
    events: dict[str, Shape | None] = dict(topic.model.events) if topic else {}
    for trigger in () if kind.within else project.triggers.values():
        function = project.functions.get(trigger.model.function)
        for event in trigger.model.event or ():
            events[event] = function.model.payload if function else None
    if kind.group == "events":
        return dict.fromkeys(events, "")
    return {n.rstrip("?"): f.type or "object" for n, f in (events.get(kind.part) or {}).items()}


def _unique(uniques: Iterable[frozenset[str]]) -> list[str]:
    return [name for unique in uniques if len(unique) == 1 for name in unique]


def resources(project: Project, folder: str) -> Mapping[str, Resource[Any]]:
    """Return the resources of a folder by their names."""
    if folder == OWN_STEPS:
        return {
            f"{addon}.{name}": step
            for addon, steps in project.own_steps.items() for name, step in steps.items()
        }  # fmt: skip
    return project.resources.get(folder, {})


def describe(resource: Resource[Any]) -> str:
    """Return the description, title or display name of a resource."""
    model = resource.model
    texts = (getattr(model, key, None) for key in ("description", "title", "name"))
    return next(filter(None, texts), "")


def setters(steps: Iterable[Step], variable: str) -> Iterable[Step]:
    """Yield the steps that set a variable, at any depth."""
    for step in steps:
        if variable in step.sets():
            yield step
        for block in step.blocks():
            yield from setters(block, variable)


def fields_of(value_type: Type | None) -> Mapping[str, Type]:
    """Return the known fields of a map."""
    return (value_type.fields or {}) if value_type is not None else {}
