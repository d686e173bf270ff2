"""What an expression may see at one point of a function, and where its mistakes are reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bbops.expressions.nodes import Node
from bbops.expressions.types import Type, join
from bbops.yaml.document import Mark

Report = Callable[[Mark | None, int, str, str, str], None]
"""(mark, offset in the scalar, code, message, hint); a mark of None means the step."""


@dataclass(slots=True)
class Scope:
    """Names with their types, growing step by step.

    Attributes:
        roots: input, query, params, headers, env … by name; `vars` is kept apart.
        vars: variables set so far.
        report: takes a mistake.
        types: the type found for each node, by identity; the emitter reads them.
        wrong: whole expressions in which a mistake was found, by identity.
        columns: the columns a bare name may mean, inside a query; None elsewhere.
        table: the table those columns are of.
        missing: why a name that exists elsewhere does not exist here, for hints.
    """

    roots: Mapping[str, Type]
    report: Report
    vars: dict[str, Type] = field(default_factory=dict)
    types: dict[int, Type] = field(default_factory=dict)
    wrong: set[int] = field(default_factory=set)
    columns: Mapping[str, Type] | None = None
    table: str = ""
    missing: Mapping[str, str] = field(default_factory=dict)

    def set(self, name: str, of: Type) -> None:
        """Record that a step sets `vars.<name>`."""
        self.vars[name] = join(self.vars[name], of) if name in self.vars else of

    def inside(self, table: str, columns: Mapping[str, Type], *, bare: bool = True) -> Scope:
        """Return the scope of a query on `table`: `row.<column>`, and with `bare` also names."""
        row = Type("map", fields=columns, what=f"table '{table}'")
        roots = {**self.roots, "row": row}
        return Scope(
            roots, self.report, self.vars, self.types, self.wrong,
            columns if bare else None, table, self.missing,
        )  # fmt: skip

    def type_of(self, node: Node) -> Type:
        """Return the type that the check found for `node`."""
        return self.types[id(node)]
