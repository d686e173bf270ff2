"""What servers that share a database tell each other about published messages and presence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

KEPT: Final = "kept"
"""A message of a topic with history: its number is that of the entry."""

TOLD: Final = "told"
"""Any other message; its server has delivered it to its own clients already."""

CAME: Final = "came"
LEFT: Final = "left"
"""Of a client that its topic shows."""

PASSING_SECONDS: Final = 60.0
"""How long every entry is there for other servers to read."""

GONE: Final = "gone"
"""A server has ended, and each of its clients is gone; `name` is its owner name."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that every server hears of.

    Attributes:
        client: who comes or leaves.
        data: a message, or what is shown of a client.
        size: of the topic's history.
        seconds: how long the history keeps a message.
    """

    kind: str
    name: str
    client: str = ""
    data: bytes = b""
    size: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Numbered:
    """An entry with its number, which rises in the order that all servers read.

    Attributes:
        owner: the server that wrote it.
        age: seconds since then.
    """

    number: int
    owner: str
    age: float
    entry: Entry


@dataclass(frozen=True, slots=True)
class Present:
    """A client of another server that its topic shows."""

    owner: str
    name: str
    client: str
    shown: bytes


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a database holds for a server that begins.

    Attributes:
        epoch: names the numbers; another one where they begin again.
        number: of the newest entry.
        floor: no message above it has been dropped, except where `dropped` says so.
        dropped: the number of the newest message that is not kept any more, by topic.
    """

    epoch: str
    number: int
    floor: int
    dropped: Mapping[str, int]
    messages: Sequence[Numbered]
    present: Sequence[Present]


class SharedLog(Protocol):
    """The log of all servers of one project. Each method raises DatabaseError if it is away."""

    @property
    def owner(self) -> str:
        """The name of this server in it."""
        ...

    async def load(self) -> Snapshot:
        """Return all that is kept; later entries have higher numbers."""
        ...

    async def write(self, entries: Sequence[Entry]) -> None:
        """Append entries, in one transaction."""
        ...

    async def notify(self) -> None:
        """Wake the other servers."""
        ...

    async def read(self, after: int) -> list[Numbered]:
        """Return entries above a number, oldest first, some hundred at most.

        Entries that this server has delivered itself come without their data.
        """
        ...

    async def drop(self, dropped: Mapping[str, int]) -> None:
        """Remove messages up to these numbers, by topic, and entries that everybody has read."""
        ...

    async def bury(self, owners: Sequence[str]) -> None:
        """Write that servers are gone, of those which are."""
        ...
