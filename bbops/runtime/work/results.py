"""Recorded results of steps: encoding and decoding without loss of types."""

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
"""The largest encoded result of a step."""

TOO_LARGE: Final = "resultTooLarge"

_COMPRESSED_FROM_BYTES: Final = 16 << 10
_DECIMAL, _DATE, _TIME, _FAILED, _DIGEST, _CANCELLED = 1, 2, 3, 4, 5, 6
_KINDS: Final[Mapping[str, type[Failure]]] = {
    name: kind for name, kind in vars(failures).items()
    if isinstance(kind, type) and issubclass(kind, Failure)
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class RecordedFailure:
    """The recorded failure of a call."""

    kind: str
    message: str
    attributes: Mapping[str, Any]

    @classmethod
    def of(cls, error: Failure) -> RecordedFailure:
        """Return the record of a failure. An unknown class is recorded as its known base class."""
        kind = next(
            base.__name__ for base in type(error).__mro__ if _KINDS.get(base.__name__) is base
        )
        attributes = {name: value for name, value in vars(error).items() if value is not NOTHING}
        if kind != type(error).__name__:
            attributes |= {"status": error.status, "code": error.code}
        return cls(kind, error.message, attributes)

    def error(self) -> Failure:
        """Return the failure."""
        kind = _KINDS.get(self.kind, Failure)
        error = kind.__new__(kind)
        Failure.__init__(error, self.message)
        if "value" not in self.attributes:
            vars(error)["value"] = NOTHING
        vars(error).update(self.attributes)
        return error


@dataclass(frozen=True, slots=True)
class ResultDigest:
    """The digest of a read whose result is too large to be recorded."""

    sha256: str

    def matches(self, value: Any) -> bool:
        """Return whether a value has this digest."""
        return self.sha256 == _digest(msgpack.encode(_encodable(value)))


class _CancelledCall:
    """The type of CANCELLED_CALL."""

    __slots__ = ()


CANCELLED_CALL: Final = _CancelledCall()
"""The recorded result of a call that was cancelled."""


class PackedResult(bytes):
    """A result that is packed already."""

    __slots__ = ()


def pack(value: Any) -> bytes:
    """Encode a value, and compress it if it is large.

    Raises:
        JobFailure: the value is larger than MAX_RESULT_BYTES.
    """
    if type(value) is PackedResult:
        return value
    data = msgpack.encode(_encodable(value))
    if len(data) > MAX_RESULT_BYTES:
        message = f"the result of a step in a job is larger than {MAX_RESULT_BYTES:,} bytes"
        raise JobFailure(TOO_LARGE, message)
    return _compress(data)


def pack_read(value: Any) -> PackedResult:
    """Encode the result of a read; if it is too large, encode its digest."""
    data = msgpack.encode(_encodable(value))
    if len(data) > MAX_RESULT_BYTES:
        data = msgpack.encode(_encodable(ResultDigest(_digest(data))))
    return PackedResult(_compress(data))


def unpack(data: bytes) -> Any:
    """Decode a value that `pack` or `pack_read` encoded."""
    packed = zlib.decompress(data[1:]) if data[:1] == b"z" else data[1:]
    return _read(packed)


def rows_of(value: Any) -> list[list[tuple[Any, ...]]]:
    """Return decoded rows of several statements as tuples."""
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
    """Return a value that msgpack can encode: extension types keep decimals, dates and failures."""
    match value:
        case dict():
            return {key: _encodable(member) for key, member in value.items()}
        case None | str() | int() | float() | bytes() | datetime():
            return value
        case Sequence():
            return [_encodable(item) for item in value]
        case Decimal():
            return msgpack.Ext(_DECIMAL, str(value).encode())
        case date():
            return msgpack.Ext(_DATE, value.isoformat().encode())
        case time():
            return msgpack.Ext(_TIME, value.isoformat().encode())
        case RecordedFailure():
            parts = _encodable([value.kind, value.message, dict(value.attributes)])
            return msgpack.Ext(_FAILED, msgpack.encode(parts))
        case ResultDigest():
            return msgpack.Ext(_DIGEST, value.sha256.encode())
        case _CancelledCall():
            return msgpack.Ext(_CANCELLED, b"")
    return value


Buffer = Callable[[str, Any], None]
"""Keeps a result by its path until the next commit of the job records it."""


class BufferedResults:
    """Context manager whose function empties the buffer. If the block fails, it is refilled.

    A class, as `FailureRecorder`: each step of each job uses it, and a generator is slower.
    """

    __slots__ = ("_buffer", "_taken")

    def __init__(self, buffer: list[tuple[str, Any]]) -> None:
        self._buffer, self._taken = buffer, list[tuple[str, Any]]()

    def __enter__(self) -> Callable[[], list[tuple[str, Any]]]:
        return self._take

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self._buffer[:0] = self._taken

    def _take(self) -> list[tuple[str, Any]]:
        self._taken.extend(self._buffer)
        self._buffer.clear()
        return self._taken


class FailureRecorder:
    """Context manager that buffers the failure of a call, so that the next attempt raises it, too.

    If the function does not catch the failure, the attempt ends and the buffer is discarded.
    """

    __slots__ = ("_buffer", "_path")

    def __init__(self, buffer: Buffer, path: str) -> None:
        self._buffer, self._path = buffer, path

    def __enter__(self) -> None:
        """Enter the block."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, Failure):
            self._buffer(self._path, RecordedFailure.of(error))
        elif isinstance(error, asyncio.CancelledError):
            self._buffer(self._path, CANCELLED_CALL)
