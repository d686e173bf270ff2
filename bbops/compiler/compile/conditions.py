"""Compile what triggers ask of what has happened: whether it is for them, and of which lane."""

from __future__ import annotations

import ast
from collections.abc import Callable, Container
from typing import Any

from bbops.compiler.check._outside import Outside
from bbops.compiler.check.triggers import find_outside
from bbops.language.expressions import nodes as s
from bbops.language.expressions.check import check_condition, check_value
from bbops.language.expressions.emit import Emitter, load
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.values import Bare, Expression
from bbops.language.project import Project, Resource
from bbops.language.resources._job import Debounce, Lane, Unique
from bbops.language.resources.trigger import Trigger
from bbops.language.sql.dialect import Dialect
from bbops.language.steps._flow import Flow
from bbops.runtime.values.units import seconds

Part = dict[str, Any]
_WHERE = "where"


def compile_where(project: Project, trigger: Resource[Trigger], dialect: Dialect) -> Part | None:
    """Return the condition of a trigger as the linker takes it; None without one.

    It is a function of `newRow` and `oldRow`, or of `event`.
    """
    rows = trigger.model.database
    where = trigger.model.where if rows is None else rows.where
    return _compile(find_outside(project, trigger), where, dialect, is_condition=True)


def compile_condition(outside: Outside, condition: Bare, dialect: Dialect) -> Part | None:
    """Return a condition as the linker takes it: a function of the names of `outside`."""
    return _compile(outside, condition, dialect, is_condition=True)


def compile_lane(outside: Outside | None, lane: Lane | None, dialect: Dialect) -> Part | None:
    """Return what gives the key of a job's lane, with `seats` beside it; None without one.

    Args:
        outside: what the key may read, in whose order it is called with that.
    """
    if lane is None:
        return None
    found = _compile(outside, lane.key, dialect, is_condition=False)
    return found and {**found, "seats": lane.limit}


def compile_keyed(
    outside: Outside | None, keyed: Unique | Debounce | None, dialect: Dialect
) -> Part | None:
    """Return what gives the key of a job, with `for_ms` beside it; None without one."""
    if keyed is None:
        return None
    found = _compile(outside, keyed.key, dialect, is_condition=False)
    return found and {**found, "for_ms": round(1000 * seconds(keyed.for_))}


def _unheard(*_: object) -> None:
    """The check has told of all mistakes before."""


def _compile(
    outside: Outside | None, bare: Bare | None, dialect: Dialect, *, is_condition: bool
) -> Part | None:
    if bare is None or outside is None:
        return None
    assert isinstance(bare, Expression)  # noqa: S101 - checked before
    scope = Scope(outside.names, _unheard, columns=outside.columns, table=outside.table)
    (check_condition if is_condition else check_value)(bare, scope)
    flow = Flow(outside.resource.file, scope, {}, variables=(), exports=False, dialect=dialect)
    emitter = Emitter(scope, flow, read_columns(scope.roots, scope.columns))
    code = emitter.condition(bare) if is_condition else emitter.value(bare)
    roots = [f"r_{name}" for name in scope.roots]
    body: list[ast.stmt] = [ast.Return(code)]
    if scope.columns is not None:
        row = "r_newRow if r_newRow is not None else r_oldRow"
        body = [*ast.parse(f"row = {row}").body, *body]
    arguments = ast.arguments([], [ast.arg(one) for one in roots], None, [], [], None, [])
    definition = ast.FunctionDef(_WHERE, arguments, body, [], None)
    return pack_definition(definition, flow, outside.resource.file)


def pack_definition(definition: ast.FunctionDef, flow: Flow, file: str) -> dict[str, Any]:
    """Return a function that stands by itself, as artifacts hold it."""
    definition.type_params = []  # type: ignore[attr-defined, unused-ignore]  # from Python 3.12 on
    definition.lineno = definition.end_lineno = 1
    definition.col_offset = definition.end_col_offset = 0
    tree = ast.fix_missing_locations(ast.Module([definition], []))
    return {
        "code": compile(tree, file, "exec", dont_inherit=True, optimize=1),
        "uses": flow.uses,
        "constants": {key: list(constant) for key, constant in flow.constants.items()},
    }


def read_columns(
    roots: Container[str], columns: Container[str] | None
) -> Callable[[s.Node], ast.expr | None]:
    """Return the emitter of bare columns: of the new row, or of the old one of a delete."""

    def read(node: s.Node) -> ast.expr | None:
        if not isinstance(node, s.Name) or node.name in roots or node.name not in (columns or {}):
            return None
        return ast.Subscript(load("row"), ast.Constant(node.name), ast.Load())

    return read
