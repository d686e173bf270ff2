"""An entry of the reference, with its arguments, examples and differences between databases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, get_args

Group = Literal["type", "operator", "filter", "function"]
GROUPS: Final[tuple[Group, ...]] = get_args(Group)


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a filter or function.

    Attributes:
        takes: the accepted types, as words; `arrow function` for an arrow function.
    """

    name: str
    takes: str
    is_optional: bool = False

    def __str__(self) -> str:
        mark = "?" if self.is_optional else ""
        if self.takes == ARROW:
            return f"row => {self.name}{mark}"
        return f"{self.name}{mark}: {self.takes}"


ARROW: Final = "arrow function"


@dataclass(frozen=True, slots=True)
class ValueExample:
    """An expression without names, and its value as JSON."""

    expression: str
    result: Any


@dataclass(frozen=True, slots=True)
class Sample:
    """An expression over `value`, a column of some type that holds `given`.

    Attributes:
        result: the value as JSON on both databases, or the status of an error.
    """

    column_type: str
    given: Any
    expression: str
    result: Any


@dataclass(frozen=True, slots=True)
class QueryExample:
    """An expression in a query over the books of `functions.ROWS`, and its value in each row.

    Attributes:
        place: `authors` or `books`, whose `select` has the expression, or `values` of `aggregate`.
    """

    place: Literal["authors", "books", "values"]
    expression: str
    results: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class DatabaseDifference:
    """A difference between the databases.

    Attributes:
        sample: an expression whose `result` is the result on SQLite; None if the difference depends
            on the version of a database.
        on_postgres: its result on PostgreSQL.
    """

    text: str
    sample: Sample | None = None
    on_postgres: Any = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A type, operator, filter or function.

    Attributes:
        signature: the syntax, with the types of its arguments and its result.
        takes: the types in front of an operator or filter, as words.
        gives: the type of the result, as words.
        example: None for types and for functions that only queries have.
        decimals: the results for decimals, with examples.
        columns: whether and how it runs on columns, in a query.
        tables: lists that belong to it, such as the letters of dates: title to rows of cells, the
            first of which is the head.
    """

    group: Group
    name: str
    title: str
    signature: str
    summary: str
    takes: str = ""
    arguments: tuple[Argument, ...] = ()
    gives: str = ""
    example: ValueExample | None = None
    decimals: str = ""
    decimal_examples: tuple[ValueExample, ...] = ()
    columns: str = ""
    samples: tuple[Sample, ...] = ()
    query_examples: tuple[QueryExample, ...] = ()
    storage: Mapping[str, str] | None = None
    difference: DatabaseDifference | None = None
    tables: Mapping[str, tuple[tuple[str, ...], ...]] | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the fields with a value, as JSON."""
        found = {key: value for key, value in asdict(self).items() if value not in (None, "", ())}
        return {("kind" if key == "group" else key): value for key, value in found.items()}


def as_literal(value: object) -> str:
    """Return a value in the syntax of expressions: `'text'`, `true`, `null`, `[1, 2]`."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{name}: {as_literal(item)}' for name, item in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(as_literal, value))}]"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
        return f"'{escaped}'"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return str(value)
