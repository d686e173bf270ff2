"""Run an operation of a tool by its name, with JSON as parameters and result."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

import msgspec

from bbops.base.errors import ServerError
from bbops.base.registry import members
from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository
from bbops.interfaces.mcp.operation import RepositoryOperation

_TOOLS: Final = "bbops.interfaces.mcp.project"


@cache
def list_operations() -> Mapping[str, RepositoryOperation[Any, Any]]:
    """Return the operations of all tools, by name."""
    modules = [module for _, module in members(_TOOLS)]
    values = [value for module in modules for value in vars(module).values()]
    return {value.name: value for value in values if isinstance(value, RepositoryOperation)}


def run_operation(
    repository: ProjectRepository, name: str, params: Mapping[str, Any]
) -> dict[str, Any]:
    """Run an operation and return its result.

    Raises:
        Refused: the operation cannot be run with these parameters.
        BbopsError: the repository cannot be read or written.
    """
    work = list_operations().get(name)
    if work is None:
        raise ServerError(f"there is no operation '{name}'")
    result = find_function(name)(repository, msgspec.convert(params, work.takes))
    values: dict[str, Any] = msgspec.to_builtins(result)
    return values


def find_function(name: str) -> Callable[[ProjectRepository, Any], msgspec.Struct]:
    """Return the function of an operation: `do` in its tool's module, or in its work's module.

    An operation that no tool is named after, such as `preview_patch`, only has the second one.
    """
    path = f"{_TOOLS}.{name}"
    tool = importlib.import_module(path) if importlib.util.find_spec(path) else None
    function: Callable[[ProjectRepository, Any], msgspec.Struct]
    function = getattr(tool, "do", None) or importlib.import_module(f"{__package__}.{name}").do
    return function
