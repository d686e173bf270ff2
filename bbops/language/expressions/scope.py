"""The scope of an expression: the names at one point of a function, and the report of mistakes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol

from bbops.language.expressions.known import Facts, FlowFacts
from bbops.language.expressions.nodes import Node
from bbops.language.expressions.types import Type
from bbops.source.yaml.document import Mark

Report = Callable[[Mark | None, int, str, str, str], None]
"""(mark, offset in the scalar, code, message, hint); a mark of None stands for the step."""

SIGNED_IN = {"auth": "the signed-in user", "apiKey": "the key that asks"}
"""Roots below `vars` that hold the caller. A function cannot set them."""


class Related(Protocol):
    """A table as the expressions of its queries see it."""

    @property
    def name(self) -> str: ...
    @property
    def children(self) -> Mapping[str, object]: ...
    def many_types(self, path: Sequence[str]) -> tuple[Related, Mapping[str, Type]] | None: ...


@dataclass(slots=True)
class Scope:
    """Names with their types, growing step by step.

    Attributes:
        roots: input, query, params, headers, env … by name; `vars` is kept apart.
        report: the callback for mistakes.
        known: the variables and facts here.
        types: the type of each node, by identity; the emitter reads them.
        wrong: whole expressions with a mistake, by identity.
        unclear: the wrong expressions with another mistake than a possible null.
        reads: the variables that some expression has read.
        columns: the columns that a bare name may refer to in a query; None elsewhere.
        table: the table of those columns.
        missing: the reason why a name of other places is missing here, for hints.
        related: the table whose relations `exists` and the like may read.
        row: the name of the row of the bare columns in facts; each inner row has its own.
        is_complete: every variable is known; false after middleware that could not be read.
        watch: the callback for each typed node, with its scope.
        windows: `rank` and `rowNumber` are allowed.
        roles: the roles of the project's tokens; empty if they are unknown.
    """

    roots: Mapping[str, Type]
    report: Report
    known: FlowFacts = field(default_factory=FlowFacts)
    types: dict[int, Type] = field(default_factory=dict)
    wrong: set[int] = field(default_factory=set)
    unclear: set[int] = field(default_factory=set)
    reads: set[str] = field(default_factory=set)
    columns: Mapping[str, Type] | None = None
    table: str = ""
    missing: Mapping[str, str] = field(default_factory=dict)
    is_complete: bool = True
    watch: Watch | None = None
    related: Related | None = None
    row: str = "row"
    roles: tuple[str, ...] = ()
    windows: bool = False

    def inside(
        self, table: str, columns: Mapping[str, Type], *, bare: bool = True,
        related: Related | None = None,
    ) -> Scope:  # fmt: skip
        """Return the scope of a query on `table`: `row.<column>`, and with `bare` also names."""
        row = Type("map", fields=columns, what=f"table '{table}'")
        roots = {**self.roots, "row": row}
        self.known.forget("row")
        return Scope(
            roots, self.report, self.known, self.types, self.wrong, self.unclear, self.reads,
            columns if bare else None, table, self.missing, self.is_complete, self.watch,
            related, roles=self.roles,
        )  # fmt: skip

    def forget_mistakes(self, whole: Node) -> None:
        """Mark an expression as correct again before a new check."""
        self.wrong.discard(id(whole))
        self.unclear.discard(id(whole))

    def around(self, related: Related, columns: Mapping[str, Type]) -> Scope:
        """Return the scope of rows that refer to this row: `row` stays the outer row."""
        row = f"{self.row}'"
        self.known.forget(row)
        return replace(
            self, columns={**(self.columns or {}), **columns}, table=related.name,
            related=related, row=row, windows=False,
        )  # fmt: skip

    def type_of(self, node: Node) -> Type:
        """Return the type that the check found for `node`."""
        return self.types[id(node)]

    @contextmanager
    def knowing(self, facts: Facts) -> Iterator[None]:
        """Add facts during the check of a part that a condition guards."""
        before = self.known.facts
        if facts:
            self.known.facts = {**before, **facts}
        yield
        self.known.facts = before


Watch = Callable[[Node, Scope], None]
"""A callback for a node of an expression and its scope."""
