"""What is done where a repository is: asked for here, done by `bbops.interfaces.mcp.workshop`.

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
    """One piece of it; who does it is `do` in `bbops.interfaces.mcp.workshop.<name>`.

    Attributes:
        takes, gives: structs; nothing else crosses between processes.
        writes: it moves a draft or makes a tag, for which reading is not permission enough.
    """

    name: str
    takes: type[Takes]
    gives: type[Gives]
    writes: bool = False
