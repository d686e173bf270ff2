"""The doors through which answers come piece by piece."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class OpenResponse(Protocol):
    """An answer whose body is read as it comes; what nobody reads waits at the other server."""

    @property
    def status(self) -> int:
        """Its status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Its headers; names are in lower case."""
        ...

    async def read(self) -> bytes:
        """Return what has come since, once something has; nothing at the end.

        Raises:
            HttpFailure: it breaks off, takes longer than the request says, or is too large.
        """
        ...

    async def close(self) -> None:
        """End the request, also in the middle of its answer."""
        ...


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """A piece that is not a text, such as a call of an agent's tool.

    Attributes:
        data: a value of JSON.
    """

    name: str
    data: Any


class Pieces(Protocol):
    """What a step gives piece by piece."""

    async def read(self) -> Sequence[str | StreamEvent] | None:
        """Return the pieces that have come since, once something has; None at the end.

        Raises:
            Failure: it breaks off.
        """
        ...

    def result(self) -> Any:
        """Return what the step would have returned as a whole; only at the end."""
        ...

    async def close(self) -> None:
        """End it, also in the middle."""
        ...
