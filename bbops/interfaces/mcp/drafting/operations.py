"""Run an operation of a tool by its name, with JSON as parameters and result."""

from __future__ import annotations

from collections.abc import Mapping
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
    operation = list_operations().get(name)
    if operation is None:
        raise ServerError(f"there is no operation '{name}'")
    result = operation.do(repository, msgspec.convert(params, operation.takes))
    values: dict[str, Any] = msgspec.to_builtins(result)
    return values
