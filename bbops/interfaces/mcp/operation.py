"""An operation in a repository: a tool declares it, a process with git and the compiler runs it.

The server's parent process imports the tools. So the function of an operation imports git, models
and the compiler when it is called; `bbops.interfaces.mcp.drafting` has what several tools share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

Params = TypeVar("Params", bound=msgspec.Struct)
Result = TypeVar("Result", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class RepositoryOperation(Generic[Params, Result]):
    """An operation in a repository.

    Attributes:
        name: the name of the tool.
        takes, gives: the structs of parameters and result; only these cross between processes.
        do: runs the operation in a `bbops.interfaces.mcp.drafting.project_repository`.
        writes: the operation moves a draft or creates a tag, which needs a permission to write.
        leaves_objects: the operation leaves git objects, even unused ones; a limit counts it.
        activity: its name in the project's activity; empty if it is not recorded there.
    """

    name: str
    takes: type[Params]
    gives: type[Result]
    do: Callable[[Any, Params], Result]
    writes: bool = False
    leaves_objects: bool = False
    activity: str = ""
