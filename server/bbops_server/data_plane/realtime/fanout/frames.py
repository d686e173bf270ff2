"""What processes tell each other about topics. Every frame is bounded by what it is made of."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Struct

LENGTH_BYTES: Final = 4
MOST_FRAME_BYTES: Final = 64 << 20
"""An answer holds the history of a topic; more comes from nobody of ours."""

Numbered = tuple[int, bytes]
"""A message and its number."""


class Say(Struct, frozen=True, array_like=True, tag="say"):
    """A message for whoever has subscribed.

    Attributes:
        is_counted: it comes back to its sender, too, with its number.
        size: of the topic's history; 0 where nothing is kept.
    """

    project: str
    name: str
    data: bytes
    is_counted: bool
    size: int = 0
    seconds: float = 0.0


class Join(Struct, frozen=True, array_like=True, tag="join"):
    """A client subscribes.

    Attributes:
        recover: it comes back, and stopped at `epoch` and `offset`.
        shown: what others see of it, as JSON; None where nobody is shown.
    """

    ask: int
    project: str
    name: str
    client: str
    shown: bytes | None
    size: int
    seconds: float
    recover: bool = False
    epoch: str = ""
    offset: int = 0


class Part(Struct, frozen=True, array_like=True, tag="part"):
    """A client does not subscribe any more."""

    project: str
    name: str
    client: str


class Look(Struct, frozen=True, array_like=True, tag="look"):
    """Who is there, and what is kept: at most `most` messages."""

    ask: int
    project: str
    name: str
    most: int = 0
    after: int | None = None
    is_reverse: bool = False


class Hello(Struct, frozen=True, array_like=True, tag="hello"):
    """The other end is there."""


class Said(Struct, frozen=True, array_like=True, tag="said"):
    """A message; its number is 0 where none is kept."""

    project: str
    name: str
    data: bytes
    offset: int


class Moved(Struct, frozen=True, array_like=True, tag="moved"):
    """A subscriber that is shown has come, or gone."""

    project: str
    name: str
    client: str
    shown: bytes
    is_there: bool


class Changed(Struct, frozen=True, array_like=True, tag="changed"):
    """A row that has changed, as the log has it."""

    project: str
    seq: int
    event: str
    payload: str


class Seen(Struct, frozen=True, array_like=True, tag="seen"):
    """The answer to `join` and `look`.

    Attributes:
        recovered: `messages` are all that was missed.
        refusal: why a client may not join.
        is_away: what is kept cannot be read now.
    """

    ask: int
    epoch: str = ""
    offset: int = 0
    recovered: bool = False
    messages: list[Numbered] = []
    present: dict[str, bytes] = {}
    refusal: str = ""
    is_away: bool = False


class Lost(Struct, frozen=True, array_like=True, tag="lost"):
    """Nobody knows what the subscribers of a project's counted topics have missed."""

    project: str


Up = Say | Join | Part | Look
Down = Hello | Said | Moved | Changed | Seen | Lost
_encode = msgspec.msgpack.Encoder().encode


def pack(frame: Any) -> bytes:
    """Return a frame as it is written into a stream."""
    data = _encode(frame)
    return len(data).to_bytes(LENGTH_BYTES, "big") + data


class Frames:
    """Cuts a stream into frames of one kind."""

    def __init__(self, kind: Any) -> None:
        self._buffer = bytearray()
        self._decode = msgspec.msgpack.Decoder(kind).decode

    def feed(self, data: bytes) -> list[Any]:
        """Return the frames that are whole now.

        Raises:
            ValueError: what came is no frame.
        """
        buffer, found, at = self._buffer, list[Any](), 0
        buffer += data
        while len(buffer) - at >= LENGTH_BYTES:
            size = int.from_bytes(buffer[at : at + LENGTH_BYTES], "big")
            if size > MOST_FRAME_BYTES:
                raise ValueError("a frame is too large")
            if len(buffer) - at - LENGTH_BYTES < size:
                break
            at += LENGTH_BYTES + size
            found.append(self._decode(bytes(buffer[at - size : at])))
        del buffer[:at]
        return found
