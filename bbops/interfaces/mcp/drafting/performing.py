"""Do a piece of work by its name: what comes in and goes out is JSON."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

import msgspec

from bbops.base.errors import ServerError
from bbops.base.registry import members
from bbops.interfaces.mcp.drafting.bench import Bench
from bbops.interfaces.mcp.work import Work

_TOOLS: Final = "bbops.interfaces.mcp.project"


@cache
def every_work() -> Mapping[str, Work[Any, Any]]:
    """Return all that tools ask for, by name."""
    modules = [module for _, module in members(_TOOLS)]
    found = [one for module in modules for one in vars(module).values() if isinstance(one, Work)]
    return {one.name: one for one in found}


def perform(bench: Bench, name: str, taken: Mapping[str, Any]) -> dict[str, Any]:
    """Do it and return what it gives.

    Raises:
        Refused: it cannot be done as it was asked for.
        BbopsError: the repository cannot be read or written.
    """
    work = every_work().get(name)
    if work is None:
        raise ServerError(f"there is no operation '{name}'")
    given = find_doing(name)(bench, msgspec.convert(taken, work.takes))
    told: dict[str, Any] = msgspec.to_builtins(given)
    return told


def find_doing(name: str) -> Callable[[Bench, Any], msgspec.Struct]:
    """Return what does a work that there is: `do` of its tool's file, or of one named like it."""
    tool = importlib.import_module(f"{_TOOLS}.{name}")
    doing: Callable[[Bench, Any], msgspec.Struct]
    doing = getattr(tool, "do", None) or importlib.import_module(f"{__package__}.{name}").do
    return doing
