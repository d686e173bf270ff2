"""Check expressions that stand outside functions: conditions of triggers, topics, tests, tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bbops.base.diagnostics import Diagnostic
from bbops.compiler.check._flows import WARNINGS
from bbops.language.expressions.check import check_condition, check_value
from bbops.language.expressions.known import FlowFacts
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.types import ANY, Type
from bbops.language.expressions.values import Bare, Expression, Value
from bbops.language.project import Resource
from bbops.source.yaml.document import Mark


@dataclass(slots=True)
class Outside:
    """Collects the mistakes of expressions in one resource.

    Attributes:
        names: what they may read.
        columns: what a bare name may mean too, with the table it is of.
        known: the variables, where there are some.
    """

    resource: Resource[Any]
    names: Mapping[str, Type]
    columns: Mapping[str, Type] | None = None
    table: str = ""
    known: FlowFacts = field(default_factory=FlowFacts)
    missing: Mapping[str, str] = field(default_factory=dict)
    found: list[Diagnostic] = field(default_factory=list)

    def condition(self, bare: Bare, *path: str | int) -> None:
        """Check an expression that must be true or false; `path` is where it stands."""
        if isinstance(bare, Expression):
            check_condition(bare, self._scope(path))
        else:
            check_value(bare, self._scope(path))

    def value(self, value: Value | None, *path: str | int) -> Type:
        """Check a value and return its type."""
        return ANY if value is None else check_value(value, self._scope(path))

    def _scope(self, path: tuple[str | int, ...]) -> Scope:
        def report(mark: Mark | None, offset: int, code: str, message: str, hint: str) -> None:
            place = self.resource.at(mark, offset) if mark else self.resource.place(*path)
            severity = "warning" if code in WARNINGS else "error"
            self.found.append(Diagnostic(place, code, message, hint, severity))  # type: ignore[arg-type]

        return Scope(
            self.names, report, self.known.copy(), columns=self.columns, table=self.table,
            missing=self.missing,
        )  # fmt: skip
