"""Compile the conditions of triggers: functions that say whether what has happened is for them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from bbops.build.check._ways import event_of, rows_of
from bbops.language.expressions import nodes as s
from bbops.language.expressions.check import check_condition
from bbops.language.expressions.emit import Emitter, load
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.types import Type
from bbops.language.expressions.values import Bare, Expression
from bbops.language.project import Project, Resource
from bbops.language.resources.trigger import Trigger
from bbops.language.sql.dialect import Dialect
from bbops.language.steps._flow import Flow

_WHERE = "where"


def compile_where(
    project: Project, trigger: Resource[Trigger], dialect: Dialect
) -> dict[str, Any] | None:
    """Return the condition of a trigger as the linker takes it; None without one.

    It is a function of `newRow` and `oldRow`, or of `event`.
    """
    model, database = trigger.model, trigger.model.database
    if database is not None and database.where is not None:
        table = project.sql_tables[database.table]
        roots = dict(rows_of(project, database).fields or {})
        scope = Scope(roots, _unheard, columns=table.column_types, table=table.name)
        return _compile(trigger, database.where, scope, dialect)
    if model.where is not None:
        payload = project.functions[model.function].model.payload
        scope = Scope({"event": event_of(payload)}, _unheard)
        return _compile(trigger, model.where, scope, dialect)
    return None


def _unheard(*_: object) -> None:
    """The check has told of all mistakes before."""


def _compile(
    trigger: Resource[Trigger], where: Bare, scope: Scope, dialect: Dialect
) -> dict[str, Any]:
    assert isinstance(where, Expression)  # noqa: S101 - checked before
    check_condition(where, scope)
    flow = Flow(trigger.file, scope, {}, variables=(), exports=False, dialect=dialect)
    condition = Emitter(scope, flow, _columns(scope.roots, scope.columns)).condition(where)
    roots = [f"r_{name}" for name in scope.roots]
    body: list[ast.stmt] = [ast.Return(condition)]
    if scope.columns is not None:
        row = "r_newRow if r_newRow is not None else r_oldRow"
        body = [*ast.parse(f"row = {row}").body, *body]
    arguments = ast.arguments([], [ast.arg(one) for one in roots], None, [], [], None, [])
    definition = ast.FunctionDef(_WHERE, arguments, body, [], None)
    definition.type_params = []  # type: ignore[attr-defined, unused-ignore]  # from Python 3.12 on
    definition.lineno = definition.end_lineno = 1
    definition.col_offset = definition.end_col_offset = 0
    tree = ast.fix_missing_locations(ast.Module([definition], []))
    return {
        "code": compile(tree, trigger.file, "exec", dont_inherit=True, optimize=1),
        "uses": flow.uses,
        "constants": {key: list(constant) for key, constant in flow.constants.items()},
    }


def _columns(roots: Mapping[str, Type], columns: Mapping[str, Type] | None) -> Any:
    """Return what reads a bare column: of the new row, or of the old one of a delete."""

    def read(node: s.Node) -> ast.expr | None:
        if not isinstance(node, s.Name) or node.name in roots or node.name not in (columns or {}):
            return None
        return ast.Subscript(load("row"), ast.Constant(node.name), ast.Load())

    return read
