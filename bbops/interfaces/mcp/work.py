"""What is done where a repository is: asked for here, done by `bbops.interfaces.mcp.drafting`.

Light, for those who ask import it: nothing here knows git, models or a compiler.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

Takes = TypeVar("Takes", bound=msgspec.Struct)
Gives = TypeVar("Gives", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class Work(Generic[Takes, Gives]):
    """One piece of it, done by `do`.

    `do` takes the bench and what the tool was given. It is in the tool's file, or, if it needs what
    a server should not load, in `bbops.interfaces.mcp.drafting.<name>`.

    Attributes:
        name: of the tool.
        takes, gives: structs; nothing else crosses between processes.
        writes: it moves a draft or makes a tag, for which reading is not permission enough.
        leaves_something: in the repository, whether or not anybody uses it; a limit counts it.
        noted: what the project's activity calls it; empty for what is not noted there.
    """

    name: str
    takes: type[Takes]
    gives: type[Gives]
    writes: bool = False
    leaves_something: bool = False
    noted: str = ""
