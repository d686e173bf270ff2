"""Compile one function into one Python `async def`.

The code object carries the YAML's file name and line numbers, so a traceback, a profiler or the
record of a 500 points at the step itself.
"""

from __future__ import annotations

import ast
import hashlib
import marshal
from importlib.util import MAGIC_NUMBER
from typing import Any

from bbops import __version__
from bbops.base.names import INLINE
from bbops.compiler.check import CheckedProject
from bbops.compiler.check._flows import CheckedFlow
from bbops.compiler.check._surroundings import asking
from bbops.language.expressions.emit import load
from bbops.language.shape import Shape, shape_spec
from bbops.language.sql.dialect import Dialect
from bbops.language.steps._base import variables
from bbops.language.steps._flow import Flow

_FLOW = "flow"
_PARTS = ("input", "params", "query", "payload")


def compile_function(
    project: CheckedProject, name: str, checked: CheckedFlow, dialect: Dialect, *,
    is_durable: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Return a function as marshal can write it: code, and what the linker must give it.

    Args:
        checked: the same function, checked without mistakes.
        dialect: of the database that it will run on.
        is_durable: jobs are to run it.
    """
    function = project.functions[name]
    flow, body, tree = function_tree(project, name, checked, dialect, is_durable=is_durable)
    return {
        "name": name,
        "file": function.file,
        "code": compile(tree, function.file, "exec", dont_inherit=True, optimize=1),
        "uses": flow.uses,
        "constants": {key: list(constant) for key, constant in flow.constants.items()},
        "calls": flow.calls,
        "starts": flow.starts,
        "unfolds": _may_unfold(flow, body),
        "needs": sorted(flow.roots | ({"vars"} if flow.exports else set())),
        "strict": function.model.strict_query,
        "shapes": {part: _spec(getattr(function.model, part)) for part in _PARTS},
    }  # fmt: skip


def function_tree(
    project: CheckedProject, name: str, checked: CheckedFlow, dialect: Dialect, *,
    is_durable: bool = False,
) -> tuple[Flow, list[ast.stmt], ast.Module]:  # fmt: skip
    """Return what has collected the code of a function, its steps, and all of it as a module."""
    function = project.functions[name]
    steps = function.model.steps
    flow = Flow(
        function.file, checked.scope, project.sql_tables,
        home=function.file if name.startswith(INLINE) else f"functions/{name}.yaml",
        variables=sorted(set(variables(steps))), exports=name in project.middleware,
        dialect=dialect, is_durable=is_durable, actions=project.own_actions,
    )  # fmt: skip
    body = flow.block(steps)
    return flow, body, _module(flow, body, checked.inherits)


def pack_value(value: Any) -> bytes:
    """Return what marshal writes of a value: equal projects give equal bytes."""
    return marshal.dumps(value, 2)  # later versions write references, by who else holds an object


def code_key(project: CheckedProject, name: str, checked: CheckedFlow, dialect: Dialect) -> str:
    """Return what the code of a function depends on, as one hash.

    Its path counts (two equal files are two functions), and the content of everything that
    checking it looked at, the compiler's version and Python's bytecode.
    """
    function = project.functions[name]
    parts = [__version__, MAGIC_NUMBER.hex(), dialect.name]
    parts += [function.file, function.blob, project.settings.blob]
    for kind, read in sorted(checked.reads):
        parts += [kind, read, project.named(kind)[read].blob]
    for route in project.routes_of(name):
        parts += [
            route.endpoint.file,
            route.endpoint.blob,
            route.channel.blob if route.channel else "",
        ]
        parts += [project.functions[one].blob for one in route.middleware]
    for way in project.ways_to(name):
        parts += [repr(way), *(project.functions[one].blob for one in way.before)]
    parts += [str(name in project.middleware), repr(asking(project, name))]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _may_unfold(flow: Flow, body: list[ast.stmt]) -> bool:
    """Return whether what the function builds may be far larger written out than in memory.

    Forty times `[x, x]` is. Without loops and calls n reads of variables unfold at most 3^(n/3)
    times, so short functions need not measure what they return.
    """
    nodes = [node for statement in body for node in ast.walk(statement)]
    reads = sum(isinstance(node, ast.Name) and node.id.startswith("v_") for node in nodes)
    return bool(flow.calls) or reads > 30 or any(isinstance(node, ast.For) for node in nodes)


def _spec(shape: Shape | None) -> dict[str, Any] | None:
    return None if shape is None else shape_spec(shape)


def _module(flow: Flow, body: list[ast.stmt], inherits: frozenset[str]) -> ast.Module:
    head: list[ast.stmt] = []
    own = [local for name, local in flow.variables.items() if name not in inherits]
    if own:
        head.append(ast.Assign([ast.Name(local, ast.Store()) for local in own], ast.Constant(None)))
    for name in sorted(inherits & flow.variables.keys()):
        head += flow.run(f"{flow.variables[name]} = run.vars.get({name!r})")
    for root in sorted(flow.roots):
        value = ast.Attribute(load("run"), root, ast.Load())
        head.append(ast.Assign([ast.Name(f"r_{root}", ast.Store())], value))
    end = flow.run(
        "return (200, NOTHING, None, None)", NOTHING="bbops.runtime.values.failures:NOTHING"
    )
    arguments = ast.arguments([], [ast.arg("run")], None, [], [], None, [])
    definition = ast.AsyncFunctionDef(_FLOW, arguments, [*head, *body, *end], [], None)
    definition.type_params = []  # type: ignore[attr-defined, unused-ignore]  # from Python 3.12 on
    definition.lineno = definition.end_lineno = 1
    definition.col_offset = definition.end_col_offset = 0
    return ast.fix_missing_locations(ast.Module([definition], []))
