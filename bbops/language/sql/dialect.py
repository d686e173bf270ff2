"""The differences between the SQL of the databases, and SQL texts with holes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from bbops.language.sql.types import SqlColumn

Use = Literal["value", "equal", "order"]
"""The use of a parameter: in a computation, a test for equality, or an order."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The form in which a value that is known before SQL gets into it.

    Attributes:
        binder: the function of the dialect's `rows` that makes a parameter of the value; empty if
            the value is a parameter unchanged.
        given: the arguments of the binder after the value.
        sql: the text at its place; `{}` is the parameter, and without one there is none.
    """

    binder: str = ""
    given: tuple[Any, ...] = ()
    sql: str = "{}"


class Dialect(ABC):
    """The SQL of one database; `SQLITE` and `POSTGRES` are all there are.

    Attributes:
        name: the name in artifacts and `project.yaml`.
        rows: the module of `bbops.runtime` with its encoders, decoders and binders.
        writes: the module with its `Setter` and `Inserter`.
        encoders: the function that checks and encodes a value, by column type.
        decoders: the function of `rows` for a stored value, by column type.
        json_decoders: the function of `rows` for a value in JSON, by column type.
        words: the conditions that are always true and always false.
        filters: the patterns of filters; `{0}` is the filtered value, then come the arguments.
        searches: the filters that can also look for a text from a row.
        list_alias: the text after a SELECT in FROM that needs no name.
        last_character: the greatest character, as SQL.
        by_value: the text after a decimal that is compared or ordered.
        by_code_point: the text after a computed text that is ordered.
        moments: the SQL of datetimes and dates.
        own_rows: the function of `rows` for the result of an author's own statement; may be empty.
        main: the text before a table that a name in WITH may hide; empty if such a name is unknown
            before its definition.
        casts: the text after a parameter of an author's own statement, by kind.
        alone: the text after a parameter whose type the database cannot find out, by kind.
        meets_others: whether a transaction may need a retry because of another one.
    """

    name: ClassVar[str]
    rows: ClassVar[str]
    writes: ClassVar[str]
    encoders: ClassVar[Mapping[str, Callable[[Any, str], Any]]]
    decoders: ClassVar[Mapping[str, str]]
    json_decoders: ClassVar[Mapping[str, str]]
    words: ClassVar[tuple[str, str]]
    filters: ClassVar[Mapping[str, str]]
    searches: ClassVar[Mapping[str, str]]
    list_alias: ClassVar[str]
    last_character: ClassVar[str]
    by_value: ClassVar[str]
    by_code_point: ClassVar[str]
    moments: ClassVar[Moments]
    own_rows: ClassVar[str]
    main: ClassVar[str]
    casts: ClassVar[Mapping[str, str]]
    alone: ClassVar[Mapping[str, str]]
    meets_others: ClassVar[bool]

    @property
    def kept(self) -> Dialect:
        """The dialect for SQL that the database stores: in a CHECK, in an index."""
        return self

    @abstractmethod
    def computed(self, value: Template, of: str) -> Template:
        """Return a computed value in the form of a column of that type."""

    # ---- values
    @abstractmethod
    def slot(self, kind: str, beside: str, use: Use) -> Slot:
        """Return the slot of a value of this kind.

        Args:
            beside: the kind, or a column's type, of the other operand.
        """

    @abstractmethod
    def list_slot(self, beside: str) -> Slot:
        """Return the slot of a list in which values of kind `beside` are looked for."""

    @abstractmethod
    def column(self, sql: str, of: str) -> str:
        """Return a column of type `of` in the form of expressions: a uuid is a text."""

    @abstractmethod
    def assigned(self, value: Template, column: SqlColumn, *, sure: bool) -> Template:
        """Return a computed value in the form that a column stores.

        Args:
            sure: the value has the column's type, in its form.
        """

    @abstractmethod
    def fitted(self, value: Template, column: SqlColumn) -> Template:
        """Return a computed text that fails if it is longer than the column allows."""

    @abstractmethod
    def inline_decoder(self, of: str) -> str:
        """Return Python for a value `{}` of type `of` that is not null; empty without a short form.

        `read` in it is `read_datetime` of `rows`.
        """

    @abstractmethod
    def cursor_mark(self, of: str) -> str:
        """Return the parameter for a value of type `of` in a cursor."""

    # ---- conditions
    @abstractmethod
    def equal(self, left: Template, right: Template, *, null: bool) -> Template:
        """Return a two-valued `==`. Args: `null`: both sides may be null."""

    @abstractmethod
    def unequal(self, left: Template, right: Template, *, null: bool) -> Template:
        """Return a two-valued `!=`."""

    @abstractmethod
    def ordered(self, left: Template, op: str, right: Template, kind: str) -> Template:
        """Return `<` and the like between values of one kind."""

    @abstractmethod
    def among(self, left: Template, items: Sequence[Template]) -> Template:
        """Return whether a value is in a list of templates; null if only a null could match."""

    @abstractmethod
    def in_list(self, left: Template, listed: Template) -> Template:
        """Return whether a value is in a list that is one parameter."""

    @abstractmethod
    def has_null(self, listed: Template) -> Template:
        """Return whether a list that is one parameter has a null."""

    # ---- numbers
    @abstractmethod
    def divided(self, left: Template, right: Template) -> Template:
        """Return `/` of numbers; by zero it is null."""

    @abstractmethod
    def remainder(self, left: Template, right: Template, *, whole: bool) -> Template:
        """Return `%`, which has the sign of `left`. Args: `whole`: both are whole numbers."""

    @abstractmethod
    def rounded(self, of: Template, digits: Sequence[Template]) -> Template:
        """Return a number rounded, halves away from zero; `digits` has no item or one."""

    @abstractmethod
    def lesser(self, name: str, args: Sequence[Template], *, null: bool) -> Template:
        """Return `min`, `max` or `clamp`; `null`: an argument, and then the result, may be null."""

    @abstractmethod
    def aggregated(self, name: str, of: Template, kind: str, only: Template = "") -> Template:
        """Return `countDistinct`, `sum`, `avg`, `min` or `max` of values of this kind.

        Decimals lose nothing; their average has six places.

        Args:
            only: the text after the function if it counts only some rows.
        """

    @abstractmethod
    def exact(self, value: Template) -> Template:
        """Return a computed decimal in the form for comparisons."""

    @abstractmethod
    def exact_binary(self, op: str, left: Template, right: Template) -> Template:
        """Return `+`, `-` or `*` of decimals and whole numbers."""

    @abstractmethod
    def exact_divided(self, left: Template, right: Template, places: int) -> Template:
        """Return a quotient with so many places, halves away from zero; by zero it is null."""

    # ---- JSON
    @abstractmethod
    def json_list(self, value: Template) -> Template:
        """Return the aggregate that makes a JSON list of values."""

    @abstractmethod
    def json_row(self, cells: Template) -> Template:
        """Return cells, with commas between them, as a JSON list."""

    @abstractmethod
    def in_json(self, cell: Template, of: str) -> Template:
        """Return a value of type `of` as lossless JSON."""

    @abstractmethod
    def json_text(self, column: Template) -> Template:
        """Return a json column in the form for comparisons: its text."""

    @abstractmethod
    def nested_json(self, value: Template) -> Template:
        """Return JSON inside of JSON."""

    # ---- order and writes
    def unique_key(self, column: str, of: str) -> str:
        """Return the index expression of a unique column; a decimal is indexed by its value."""
        del of
        return f'"{column}"'

    @abstractmethod
    def ways(self, *, nullable: bool) -> tuple[str, str]:
        """Return the direction for ORDER BY, ascending and descending; null is last."""

    @abstractmethod
    def limited(self, most: int) -> Template:
        """Return the parameter after LIMIT, with the largest result as its bound."""

    @abstractmethod
    def moves_on(self, table: str, column: str) -> str:
        """Return the part of RETURNING that moves `auto: increment` past a row's own number."""


# ---- SQL text with holes: what compiling a query gives, and what marshals into an artifact
# A template is nested tuples of JSON's types: * `"text"` is SQL, an integer is the parameter at
# that position, * `("seq", a, b …)` joins, `("and", …)`, `("or", …)`, `("not", a)` are conditions,
# * `("switch", i)` is a condition decided before SQL, by the i-th switch, * `("if", i, then,
# other)` is one of two texts, by the i-th switch, * `("raw", i, sample)` is SQL that the i-th
# switch holds; only `OrderBy`, `Pages` and `Setter` make such texts. With a fourth member the
# parameter at that position is a list, one for each `?` of it. `bbops.runtime.data.statements`
# renders it once per combination of switches.

Template: TypeAlias = str | int | tuple[Any, ...]


def seq(*parts: Template) -> Template:
    """Return the parts one after the other."""
    return ("seq", *parts)


def commas(parts: Sequence[Template]) -> Template:
    """Return the parts with commas between them."""
    return joined(parts, ", ")


def joined(parts: Sequence[Template], separator: str) -> Template:
    """Return the parts with `separator` between them."""
    out: list[Template] = []
    for part in parts:
        out += [separator, part] if out else [part]
    return ("seq", *out)


def filled(pattern: str, parts: Sequence[Template]) -> Template:
    """Fill `{0}`, `{1}` … of a pattern; a part may stand in it more than once."""
    out: list[Template] = []
    for at, piece in enumerate(pattern.replace("}", "{").split("{")):
        if at % 2:
            out.append(parts[int(piece)])
        elif piece:
            out.append(piece)
    return ("seq", *out)


# ---- The SQL of datetimes and dates in queries, which differs by database

UTC = "'UTC'"
"""The default zone of a filter, as SQL."""


class Moments(ABC):
    """SQL over datetimes and dates, with the same results as the filters in memory.

    `zone` is the SQL of a zone's name; a date has no zone.
    """

    @abstractmethod
    def written(self, of: Template, form: str, zone: Template, *, date: bool) -> Template:
        """Return `date(form, zone)`."""

    @abstractmethod
    def start(self, of: Template, unit: str, zone: Template, *, date: bool) -> Template:
        """Return `startOf(unit, zone)`."""

    @abstractmethod
    def moved(self, of: Template, count: int, unit: str, zone: Template, *, date: bool) -> Template:
        """Return `add` of a duration: a number of `ms s m h d w mo y`."""

    @abstractmethod
    def moved_by(self, of: Template, seconds: Template) -> Template:
        """Return `add` of a number of seconds."""

    @abstractmethod
    def days(
        self, of: Template, other: Template, zone: Template, dates: tuple[bool, bool]
    ) -> Template:
        """Return `difference(other, 'd', zone)`."""

    @abstractmethod
    def between(self, left: Template, right: Template) -> Template:
        """Return the seconds between two datetimes, as a number."""


def literal(text: str) -> str:
    """Return a text as SQL."""
    return "'" + text.replace("'", "''") + "'"
