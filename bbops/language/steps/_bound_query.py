"""A statement whose parameters are computed by the code of its function."""

from __future__ import annotations

import ast
from typing import Protocol

from bbops.language.expressions import nodes as s
from bbops.language.expressions.conversions import constant_form
from bbops.language.expressions.emit import Emitter
from bbops.language.expressions.nodes import Node
from bbops.language.expressions.scope import Scope
from bbops.language.sql.computed import computed_sql
from bbops.language.sql.dialect import Dialect, Slot
from bbops.language.sql.query import Query
from bbops.language.sql.types import SqlTable


class Makes(Protocol):
    """The code of a function, as a statement in it uses it."""

    @property
    def dialect(self) -> Dialect: ...
    def row_code(self, name: str) -> ast.expr: ...


class BoundQuery(Query):
    """A Query whose parameters are computed by its flow."""

    def __init__(
        self, table: SqlTable, scope: Scope, emitter: Emitter, *, bare: bool, flow: Makes
    ) -> None:
        super().__init__(table, scope, emitter.node, bare=bare, dialect=flow.dialect)
        self.emitter, self.flow = emitter, flow

    def bound(self, node: Node, slot: Slot) -> ast.expr:
        if not slot.binder:
            return self.host(node)
        if slot.binder == "bind_form" and isinstance(node, s.Literal):
            return ast.Constant(constant_form(node, slot.given[0]))
        given = [ast.Constant(argument) for argument in slot.given]
        return ast.Call(self.flow.row_code(slot.binder), [self.host(node), *given], [])

    def compute(self, table: SqlTable, name: str, alias: str) -> str:
        return computed_sql(table, name, self.dialect, alias)

    def decided(self, node: Node) -> ast.expr:
        return self.emitter.boolean(node)
