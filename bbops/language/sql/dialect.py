"""What the SQL of the databases differs in; every other module of this package asks here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from bbops.language.sql.moments import Moments
from bbops.language.sql.template import Template
from bbops.language.sql.types import Column

Use = Literal["value", "equal", "order"]
"""What becomes of a parameter: it is computed with, tested for equality, or ordered."""


@dataclass(frozen=True, slots=True)
class Slot:
    """How a value that is known before SQL gets into it.

    Attributes:
        binder: the function of the dialect's `rows` that makes a parameter of it; empty where it
            is one as it is.
        given: what the binder takes behind the value.
        sql: the text at its place; `{}` is the parameter, and without one there is none.
    """

    binder: str = ""
    given: tuple[Any, ...] = ()
    sql: str = "{}"


class Dialect(ABC):
    """One database's way to say things; `SQLITE` and `POSTGRES` are all there are.

    Attributes:
        name: as artifacts and `project.yaml` know it.
        rows: the module of `bbops.runtime` with its encoders, decoders and binders.
        writes: the one with its `Setter` and `Inserter`.
        encoders: by column type, what checks and encodes a value.
        decoders: by column type, the function of `rows` for what it gives.
        json_decoders: the same, for what came in JSON.
        words: the conditions that always and never hold.
        filters: their patterns; `{0}` is what is filtered, then come the arguments.
        searches: those of `filters` that look for a text which is read from a row, too.
        list_alias: what stands behind a SELECT in FROM that needs no name.
        last_character: the greatest one, as SQL.
        by_value: what stands behind a decimal that is compared or ordered.
        by_code_point: what stands behind a computed text that is ordered.
        moments: what it makes of datetimes and dates.
        own: the module with `bind_own`.
        own_rows: the function of `rows` for what an author's own statement gives; may be empty.
        main: stands before a table that a name in WITH may hide; empty where such a name is not
            known before it is defined.
        casts: by kind, what stands behind a parameter of an author's own statement.
        alone: the same of kinds that the database finds out, where it cannot.
        meets_others: whether a transaction may have to be done again, because of another one.
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
    own: ClassVar[str]
    own_rows: ClassVar[str]
    main: ClassVar[str]
    casts: ClassVar[Mapping[str, str]]
    alone: ClassVar[Mapping[str, str]]
    meets_others: ClassVar[bool]

    @property
    def kept(self) -> Dialect:
        """Itself, as it writes what the database keeps: in a CHECK, in an index."""
        return self

    @abstractmethod
    def computed(self, value: Template, of: str) -> Template:
        """Return a computed value as a column of that type gives it."""

    # ---- values
    @abstractmethod
    def slot(self, kind: str, beside: str, use: Use) -> Slot:
        """Return the slot of a value of this kind.

        Args:
            beside: the kind, or a column's type, of what it meets.
        """

    @abstractmethod
    def list_slot(self, beside: str) -> Slot:
        """Return the slot of a list in which values of kind `beside` are looked for."""

    @abstractmethod
    def column(self, sql: str, of: str) -> str:
        """Return a column of type `of` as an expression sees it: a uuid is a text."""

    @abstractmethod
    def assigned(self, value: Template, column: Column, *, sure: bool) -> Template:
        """Return a computed value as a column takes it.

        Args:
            sure: it is known to be of the column's type, in its form.
        """

    @abstractmethod
    def fitted(self, value: Template, column: Column) -> Template:
        """Return a computed text that fails where it is longer than the column takes."""

    @abstractmethod
    def inline_decoder(self, of: str) -> str:
        """Return Python for a value `{}` of type `of` that is not null; empty without a short way.

        `read` in it is `read_datetime` of `rows`.
        """

    @abstractmethod
    def cursor_mark(self, of: str) -> str:
        """Return the parameter for what a cursor keeps of a column of type `of`."""

    # ---- conditions
    @abstractmethod
    def equal(self, left: Template, right: Template, *, null: bool) -> Template:
        """Return a two-valued `==`. Args: `null`: both sides may be null."""

    @abstractmethod
    def unequal(self, left: Template, right: Template, *, null: bool) -> Template:
        """Return a two-valued `!=`."""

    @abstractmethod
    def ordered(self, left: Template, op: str, right: Template, kind: str) -> Template:
        """Return `<` and its like between values of one kind."""

    @abstractmethod
    def among(self, left: Template, items: Sequence[Template]) -> Template:
        """Return whether a value is one of some; null when only a null could be."""

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
        """Return a number rounded, halves away from zero; `digits` is none or one."""

    @abstractmethod
    def lesser(self, name: str, args: Sequence[Template], *, null: bool) -> Template:
        """Return `min`, `max` or `clamp`; with `null` one of them may be null, and then it is."""

    @abstractmethod
    def aggregated(self, name: str, of: Template, kind: str, only: Template = "") -> Template:
        """Return `countDistinct`, `sum`, `avg`, `min` or `max` of values of this kind.

        Decimals lose nothing; their average has six places.

        Args:
            only: what stands behind the function where it takes some rows only.
        """

    @abstractmethod
    def exact(self, value: Template) -> Template:
        """Return a computed decimal as it is compared."""

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
        """Return a value of type `of` as JSON keeps it without loss."""

    @abstractmethod
    def json_text(self, column: Template) -> Template:
        """Return a json column as it is compared: by its text."""

    @abstractmethod
    def nested_json(self, value: Template) -> Template:
        """Return JSON that stands in JSON."""

    # ---- order and writes
    def unique_key(self, column: str, of: str) -> str:
        """Return the index expression of a unique column; a decimal is indexed by its value."""
        del of
        return f'"{column}"'

    @abstractmethod
    def ways(self, *, nullable: bool) -> tuple[str, str]:
        """Return what stands behind what rows are ordered by, up and down; null is last."""

    @abstractmethod
    def limited(self, most: int) -> Template:
        """Return what stands behind LIMIT for a parameter; no more than may come back at once."""

    @abstractmethod
    def moves_on(self, table: str, column: str) -> str:
        """Return what RETURNING adds when a row brings its own number for `auto: increment`."""
