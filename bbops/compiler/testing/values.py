"""Compute what stands in a test's file: values with `${ }`, and the expressions of `check`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from types import CodeType
from typing import Any

import bcrypt

from bbops.base.host import Host
from bbops.compiler.check.cases import plain_hash
from bbops.language.expressions.check import check_value
from bbops.language.expressions.emit import Emitter, load
from bbops.language.expressions.nodes import Filter, Node
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.types import ANY
from bbops.language.expressions.values import Value
from bbops.language.steps._flow import Flow
from bbops.runtime.linking.functions import resolve

_ROUNDS = 4
"""The fewest that bcrypt knows: a test's passwords are nobody's."""


def compute(value: Value, host: Host, names: Mapping[str, Any] | None = None) -> Any:
    """Return what a value of a test's file stands for. It has been checked before.

    Args:
        names: what it may read, such as `result`.

    Raises:
        FlowError: it cannot be computed, for example `1 + null`.
    """
    given = names or {}
    checked = plain_hash(value)
    scope = Scope(dict.fromkeys(given, ANY), _ignore)
    check_value(checked, scope)
    flow = Flow("", scope, {}, variables=(), exports=False)
    hashed = {id(new) for old, new in _side_by_side(value, checked) if _is_hash(old)}
    flow.emitter = Emitter(scope, flow, _override(flow, hashed))
    code = flow.value(checked)
    space: dict[str, Any] = {"__builtins__": {}, "hash_": _hash}
    space |= {name: resolve(target) for name, target in flow.uses.items()}
    space |= {f"r_{name}": {"host": host, **given}.get(name) for name in flow.roots}
    space["now_"] = host.clock.now() if flow.uses_now else None
    return eval(_compiled(code), space)  # noqa: S307 - code of our own emitter, without builtins


def _compiled(code: ast.expr) -> CodeType:
    return compile(ast.fix_missing_locations(ast.Expression(code)), "a test", "eval")


def _ignore(*_mistake: object) -> None:
    """What is wrong was told when the project was checked."""


def _hash(password: Any) -> str:
    return bcrypt.hashpw(str(password).encode(), bcrypt.gensalt(_ROUNDS)).decode()


def _override(flow: Flow, hashed: set[int]) -> Any:
    def override(node: Node) -> ast.expr | None:
        if id(node) not in hashed or not isinstance(node, Filter):
            return None
        return ast.Call(load("hash_"), [flow.emitter.node(node.of)], [])

    return override


def _is_hash(node: object) -> bool:
    return isinstance(node, Filter) and node.name == "bcrypt"


def _side_by_side(old: Any, new: Any) -> Iterator[tuple[object, object]]:
    """Yield the parts of a value, each with what `plain_hash` made of it."""
    yield old, new
    if isinstance(old, tuple):
        for one, other in zip(old, new, strict=True):
            yield from _side_by_side(one, other)
    elif is_dataclass(old) and not isinstance(old, type):
        for one in fields(old):
            yield from _side_by_side(getattr(old, one.name), getattr(new, one.name))
