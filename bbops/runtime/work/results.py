"""Recorded results of steps, which keep their types."""

from __future__ import annotations

import asyncio
import hashlib
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from types import TracebackType
from typing import Any, Final

from msgspec import msgpack

from bbops.runtime.values import failures
from bbops.runtime.values.failures import NOTHING, Failure, JobFailure

MAX_RESULT_BYTES: Final = 1 << 20
"""Of the result of a step that is recorded."""

TOO_LARGE: Final = "resultTooLarge"

_COMPRESSED_FROM_BYTES: Final = 16 << 10
_DECIMAL, _DATE, _TIME, _FAILED, _DIGEST, _CANCELLED = 1, 2, 3, 4, 5, 6
_KINDS: Final[Mapping[str, type[Failure]]] = {
    name: kind for name, kind in vars(failures).items()
    if isinstance(kind, type) and issubclass(kind, Failure)
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class RecordedFailure:
    """A call that failed, as it is recorded."""

    kind: str
    message: str
    told: Mapping[str, Any]

    @classmethod
    def of(cls, error: Failure) -> RecordedFailure:
        """Return what is recorded of a failure; of one that this module does not know, its base."""
        kind = next(one.__name__ for one in type(error).__mro__ if _KINDS.get(one.__name__) is one)
        told = {name: one for name, one in vars(error).items() if one is not NOTHING}
        if kind != type(error).__name__:
            told |= {"status": error.status, "code": error.code}
        return cls(kind, error.message, told)

    def error(self) -> Failure:
        """Return the failure."""
        kind = _KINDS.get(self.kind, Failure)
        error = kind.__new__(kind)
        Failure.__init__(error, self.message)
        if "value" not in self.told:
            vars(error)["value"] = NOTHING
        vars(error).update(self.told)
        return error


@dataclass(frozen=True, slots=True)
class ResultDigest:
    """Stands for the result of a read that is too large to be kept."""

    sha256: str

    def is_of(self, value: Any) -> bool:
        """Return whether a read gave the same."""
        return self.sha256 == _digest(msgpack.encode(_encodable(value)))


class _CancelledCall:
    """The type of CUT."""

    __slots__ = ()


CANCELLED_CALL: Final = _CancelledCall()
"""Stands for the result of a call that was given up before it had one."""


class PackedResult(bytes):
    """A result that `pack` has nothing more to do with."""

    __slots__ = ()


def pack(value: Any) -> bytes:
    """Return a value as bytes.

    Raises:
        JobFailure: it is larger than MOST_BYTES.
    """
    if type(value) is PackedResult:
        return value
    data = msgpack.encode(_encodable(value))
    if len(data) > MAX_RESULT_BYTES:
        message = f"the result of a step in a job is larger than {MAX_RESULT_BYTES:,} bytes"
        raise JobFailure(TOO_LARGE, message)
    return _compress(data)


def pack_read(value: Any) -> PackedResult:
    """Return what a read gave as bytes; where it is too large, its digest."""
    data = msgpack.encode(_encodable(value))
    if len(data) > MAX_RESULT_BYTES:
        data = msgpack.encode(_encodable(ResultDigest(_digest(data))))
    return PackedResult(_compress(data))


def unpack(data: bytes) -> Any:
    """Return the value that was packed."""
    packed = zlib.decompress(data[1:]) if data[:1] == b"z" else data[1:]
    return _read(packed)


def rows_of(value: Any) -> list[list[tuple[Any, ...]]]:
    """Return the rows of several statements that were packed."""
    return [[tuple(row) for row in rows] for rows in value]


def _compress(data: bytes) -> bytes:
    return b"z" + zlib.compress(data, 1) if len(data) > _COMPRESSED_FROM_BYTES else b"m" + data


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _read(data: bytes) -> Any:
    return msgpack.decode(data, ext_hook=lambda code, inner: _HOOKS[code](bytes(inner)))


_HOOKS: Final[Mapping[int, Callable[[bytes], Any]]] = {
    _DECIMAL: lambda data: Decimal(data.decode()),
    _DATE: lambda data: date.fromisoformat(data.decode()),
    _TIME: lambda data: time.fromisoformat(data.decode()),
    _FAILED: lambda data: RecordedFailure(*_read(data)),
    _DIGEST: lambda data: ResultDigest(data.decode()),
    _CANCELLED: lambda _: CANCELLED_CALL,
}


def _encodable(value: Any) -> Any:
    """Return a value whose types survive: texts of numbers and days are marked."""
    match value:
        case dict():
            return {key: _encodable(one) for key, one in value.items()}
        case None | str() | int() | float() | bytes() | datetime():
            return value
        case Sequence():
            return [_encodable(one) for one in value]
        case Decimal():
            return msgpack.Ext(_DECIMAL, str(value).encode())
        case date():
            return msgpack.Ext(_DATE, value.isoformat().encode())
        case time():
            return msgpack.Ext(_TIME, value.isoformat().encode())
        case RecordedFailure():
            told = _encodable([value.kind, value.message, dict(value.told)])
            return msgpack.Ext(_FAILED, msgpack.encode(told))
        case ResultDigest():
            return msgpack.Ext(_DIGEST, value.sha256.encode())
        case _CancelledCall():
            return msgpack.Ext(_CANCELLED, b"")
    return value


Buffer = Callable[[str, Any], None]


class BufferedResults:
    """Gives a function that takes all notes; where the block fails they are notes again.

    A class, as `FailuresTo`: each step of each job comes here, and a generator costs more.
    """

    __slots__ = ("_notes", "_taken")

    def __init__(self, notes: list[tuple[str, Any]]) -> None:
        self._notes, self._taken = notes, list[tuple[str, Any]]()

    def __enter__(self) -> Callable[[], list[tuple[str, Any]]]:
        return self._take

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self._notes[:0] = self._taken

    def _take(self) -> list[tuple[str, Any]]:
        self._taken.extend(self._notes)
        self._notes.clear()
        return self._taken


class FailureRecorder:
    """Notes how a call fails: where its function catches that, the next attempt goes the same way.

    An uncaught failure ends the attempt and discards the notes that are not recorded.
    """

    __slots__ = ("_note", "_path")

    def __init__(self, note: Buffer, path: str) -> None:
        self._note, self._path = note, path

    def __enter__(self) -> None:
        """Nothing."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, Failure):
            self._note(self._path, RecordedFailure.of(error))
        elif isinstance(error, asyncio.CancelledError):
            self._note(self._path, CANCELLED_CALL)
