"""An operation in a repository: a tool declares it, `bbops.interfaces.mcp.drafting` runs it.

This module imports no git, models or compiler, because the server's parent process imports it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

Params = TypeVar("Params", bound=msgspec.Struct)
Result = TypeVar("Result", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class RepositoryOperation(Generic[Params, Result]):
    """An operation in a repository, run by a function `do`.

    `do` gets the repository and the parameters. It is in the module of its tool, or, if it needs
    imports that a server should not load, in `bbops.interfaces.mcp.drafting.<name>`.

    Attributes:
        name: the name of the tool.
        takes, gives: the structs of parameters and result; only these cross between processes.
        writes: the operation moves a draft or creates a tag, which needs a permission to write.
        leaves_objects: the operation leaves git objects, even unused ones; a limit counts it.
        activity: its name in the project's activity; empty if it is not recorded there.
    """

    name: str
    takes: type[Params]
    gives: type[Result]
    writes: bool = False
    leaves_objects: bool = False
    activity: str = ""
