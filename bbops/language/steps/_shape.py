"""`select` as it is written: a list of columns, or values by their names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, PlainValidator, TypeAdapter
from pydantic_core import PydanticCustomError

from bbops.base.model import Model
from bbops.language.expressions.nodes import Member, Name, Node
from bbops.language.expressions.values import (
    Bare,
    BareField,
    Broken,
    Expression,
    Holder,
    ValueField,
    read_bare,
)
from bbops.language.steps._base import Static, read_static
from bbops.source.yaml.document import Map, Mark, Text


@dataclass(frozen=True, slots=True, eq=False)
class Selected(Holder):
    """Names with expressions, with shapes inside, or with rows of a relation."""

    items: tuple[tuple[str, Bare | Selected | Many | Listed], ...]
    mark: Mark | None = None

    def held(self) -> tuple[Any, ...]:
        """Return the values under the names."""
        return tuple(value for _, value in self.items)


@dataclass(frozen=True, slots=True, eq=False)
class Many(Holder):
    """A list of values from each row of a relation.

    Attributes:
        find: the rows, and their relation; without it all rows, and the relation is the key's name.
    """

    each: Selected
    mark: Mark | None = None
    find: NestedFind | None = None

    def held(self) -> tuple[Any, ...]:
        """Return the values of each row, and the query of the rows."""
        return (self.each,) if self.find is None else (self.each, self.find.where)


@dataclass(frozen=True, slots=True, eq=False)
class Groups(Holder):
    """The columns of a group: names with expressions, or a list of columns."""

    items: tuple[tuple[str, Bare], ...] = ()
    is_list: bool = False

    def held(self) -> tuple[Any, ...]:
        """Return the expressions."""
        return tuple(value for _, value in self.items)


@dataclass(frozen=True, slots=True, eq=False)
class Listed(Holder):
    """Columns of the row, or of the rows, of the relation with this name.

    Attributes:
        of_one: the shape if the relation leads to one row: `author: { id: author.id }`.
        of_many: the shape if it leads to many rows: `comments: [ { id: id } ]`.
    """

    columns: tuple[str, ...]
    of_one: tuple[tuple[str, Expression], ...]
    of_many: tuple[tuple[str, Expression], ...]
    mark: Mark | None = None

    def held(self) -> tuple[Any, ...]:
        """Return nothing: there are columns only."""
        return ()


Columns = tuple[str, ...]
Path = tuple[str | int, ...]
_NAME = re.compile(r"[a-z][A-Za-z0-9_]{0,62}").fullmatch


def read_select(data: Any) -> Columns | Selected:
    """Return a list of columns as their names, a map as the shape it describes."""
    if isinstance(data, dict) and data:
        return _read_shape(data)
    if not isinstance(data, list) or not data or not all(isinstance(name, str) for name in data):
        hint = f"write [{data}]" if isinstance(data, str) and data.isidentifier() else ""
        message = "'select' is a list of columns, or a map of names"
        raise PydanticCustomError("columns", message, {"hint": hint})
    if "*" in data:
        hint = "omit 'select' to get all columns"
        message = "'select' is a list of columns, without '*'"
        raise PydanticCustomError("columns", message, {"hint": hint})
    return tuple(data)


def read_groups(data: Any) -> Groups:
    """Return a list of columns, or a map of names to expressions, as the columns of a group."""
    if isinstance(data, dict):
        for name in data:
            if not _NAME(str(name)):
                message = "'{name}' is not a name: names are in camelCase or snake_case"
                raise PydanticCustomError("columns", message, {"name": str(name)})
        return Groups(tuple((str(name), read_bare(value)) for name, value in data.items()))
    if not isinstance(data, list) or not all(isinstance(name, str) for name in data):
        message = "'groupBy' is a list of columns, or a map of names to expressions"
        hint = f"write [{data}]" if isinstance(data, str) and data.isidentifier() else ""
        raise PydanticCustomError("columns", message, {"hint": hint})
    return _columns(data)


def _columns(names: Iterable[str]) -> Groups:
    items = tuple((str(name), column_named(read_static(name))) for name in names)
    return Groups(items, is_list=True)


def column_named(name: Text) -> Expression:
    """Return the expression of a column in a list."""
    return Expression(Name(0, len(name), str(name)), name.mark, str(name))


def _read_shape(data: dict[Any, Any], path: Path = ()) -> Selected:
    keys_at = data.keys_at if isinstance(data, Map) else {}
    items = tuple(
        (str(name), _read(name, value, keys_at.get(name), (*path, str(name))))
        for name, value in data.items()
    )
    return Selected(items, data.mark if isinstance(data, Map) else None)


def _read(
    name: object, value: Any, mark: Mark | None, path: Path
) -> Bare | Selected | Many | Listed:  # fmt: skip
    if isinstance(value, dict) and [*value] == ["find"] and isinstance(value["find"], dict):
        return _read_nested(value, mark, path)
    if isinstance(value, dict) and value:
        return _read_shape(value, path)
    if not isinstance(value, list):
        return read_bare(value)
    if value and all(isinstance(item, str) for item in value):
        return _read_columns(str(name), value, mark)
    if len(value) != 1 or not isinstance(value[0], dict) or not value[0]:
        hint = f"write '{name}: [id]', or '{name}: [ {{ id: id }} ]'"
        message = "'{name}': a relation takes a list of columns, or of one map"
        raise PydanticCustomError("columns", message, {"name": str(name), "hint": hint})
    return Many(_read_shape(value[0], (*path, 0)), mark)


def _read_nested(value: Any, mark: Mark | None, path: Path) -> Many:
    """Return a nested list; its mistakes are reported like mistakes of a model at `path`."""
    wanted: Any = _Nested
    for part in reversed(path):
        wanted = list[wanted] if isinstance(part, int) else dict[str, wanted]
        value = [value] if isinstance(part, int) else {part: value}
    found = TypeAdapter(wanted).validate_python(value)
    for part in path:
        found = found[part]
    find: NestedFind = found.find
    select = find.select if isinstance(find.select, Selected) else Selected(())
    return Many(select, mark, find)


def selected_groups(select: Columns | Selected | None) -> Groups | None:
    """Return the columns that `distinct` compares; None unless they are a list or a flat map."""
    if isinstance(select, Selected):
        flat = [
            (name, item) for name, item in select.items if isinstance(item, Expression | Broken)
        ]
        return Groups(tuple(flat)) if len(flat) == len(select.items) else None
    if not select:
        return None
    return _columns(select)


class NestedFind(Model):
    """Rows of a relation in `select`: their condition, order, number and columns."""

    relation: Static
    where: BareField | None = None
    select: Annotated[Columns | Selected, PlainValidator(read_select)] | None = None
    order_by: ValueField | None = None
    limit: Annotated[int, Field(ge=1, le=1_000)] | None = None
    one: bool = False


class _Nested(Model):
    find: NestedFind


def _read_columns(relation: str, names: list[str], mark: Mark | None) -> Listed:
    of_one, of_many = list[tuple[str, Expression]](), list[tuple[str, Expression]]()
    for name in names:
        at, end = name.mark if isinstance(name, Text) else mark, len(name)
        member: Node = Member(
            0, end, Name(0, end, relation), str(name), optional=False, name_start=0
        )
        of_one.append((str(name), Expression(member, at)))
        of_many.append((str(name), Expression(Name(0, end, str(name)), at)))
    return Listed(tuple(names), tuple(of_one), tuple(of_many), mark)


def leaves(shape: Selected) -> Iterator[Bare | Many]:
    """Yield the values in a map and the maps inside it."""
    for _, value in shape.items:
        if isinstance(value, Selected):
            yield from leaves(value)
        elif not isinstance(value, Listed):
            yield value
