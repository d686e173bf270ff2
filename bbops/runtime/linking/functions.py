"""Linked functions: code objects with the names that they may use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import CodeType, FunctionType
from typing import Any

from bbops.runtime.flow.run import Function, Shape
from bbops.runtime.values.fields import Say
from bbops.runtime.values.filters import FILTERS, FUNCTIONS
from bbops.runtime.values.shapes import (
    compile_form,
    compile_params,
    compile_query,
    compile_shape,
    names_of,
    reads_exactly,
)


@dataclass(frozen=True, slots=True)
class FunctionParts:
    """The parts of a function that do not depend on its release, so that releases share them.

    Attributes:
        names: the values that the code reads by global names, apart from other functions.
        fields: the fields of `Function`, without `flow`.
        calls: the functions that the code calls, by the global names of these.
        starts: the functions that it enqueues, likewise.
    """

    code: CodeType
    names: Mapping[str, Any]
    fields: Mapping[str, Any]
    calls: Mapping[str, str]
    starts: Mapping[str, str]

    @classmethod
    def make(cls, data: Mapping[str, Any], say: Say) -> FunctionParts:
        """Return the parts of a compiled function. O(its shapes and statements)."""
        shapes = data["shapes"]
        fields = {
            "name": data["name"],
            "file": data["file"],
            "needs": frozenset(data["needs"]),
            "unfolds": data["unfolds"],
            "input": _shape(shapes["input"], say),
            "from_form": None if shapes["input"] is None else compile_form(shapes["input"]),
            "params": _shape(shapes["params"], say),
            "query": _shape(shapes["query"], say),
            "payload": _shape(shapes["payload"], say),
            "from_query": compile_query(shapes["query"] or {}, say),
            "from_params": compile_params(shapes["params"], say) if shapes["params"] else None,
            "query_names": names_of(shapes["query"] or {}),
            "reads_exactly": reads_exactly(shapes["input"] or {}),
            "is_strict": data["strict"],
        }
        return cls(data["code"], _names(data, say), fields, data["calls"], data["starts"])

    def link(self) -> tuple[Function, dict[str, Any]]:
        """Return a function, and the name space of its code, which lacks other functions."""
        space = _run(self.code, self.names)
        return Function(flow=space["flow"], **self.fields), space


def link_condition(data: Mapping[str, Any]) -> Callable[..., Any]:
    """Return the function of a trigger's condition."""
    where: FunctionType = _run(data["code"], _names(data, None))["where"]
    return where


def _names(data: Mapping[str, Any], say: Say | None) -> dict[str, Any]:
    names = {local: resolve(target) for local, target in data["uses"].items()}
    for local, (factory, arguments) in data["constants"].items():
        make = resolve(factory)
        names[local] = make(*arguments, *((say,) if make is compile_shape else ()))
    return names


def _run(code: CodeType, names: Mapping[str, Any]) -> dict[str, Any]:
    """Return the name space of compiled code, run."""
    space = {"__builtins__": {}, **names}
    exec(code, space)  # noqa: S102 - code objects of our own compiler, without builtins
    return space


def _shape(spec: Any, say: Say) -> Shape | None:
    return None if spec is None else compile_shape(spec, say)


def resolve(target: str) -> Any:
    """Return what compiled code names: a filter, a function, or a part of `bbops.runtime`."""
    module, _, name = target.partition(":")
    if module == "filter":
        return FILTERS[name].apply
    if module == "function":
        return FUNCTIONS[name].apply
    if not module.startswith("bbops.runtime."):
        raise ImportError(f"compiled code must not use {target}")
    return getattr(import_module(module), name)


def make_function(
    name: str, file: str, flow: Any, needs: frozenset[str] = frozenset(), *,
    input: Shape | None = None,  # noqa: A002 - its name everywhere
) -> Function:  # fmt: skip
    """Return a function that is not compiled from steps."""
    return Function(
        name=name, file=file, flow=flow, needs=needs, unfolds=False, input=input, from_form=None,
        params=None, query=None, payload=None, from_query=compile_query({}), from_params=None,
    )  # fmt: skip
