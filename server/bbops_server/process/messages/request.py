"""Base classes of messages, their decoding, and errors as answers.

A request names the type of its answer: `class SwapRelease(RequestMessage[DoneAnswer])`. A frame
contains the name of the class, so that a process can reject an unknown request by name.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterable
from typing import Any, Final, Generic, TypeVar, Union, get_args

import msgspec

import bbops.base.errors
from bbops.base.errors import BbopsError, ServerError
from bbops_server.process.messages.frames import ErrorFrame, encode

_FIX: Final = "its processes may be of different versions: restart the server"


class AnswerMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer to a request."""


class DoneAnswer(AnswerMessage, frozen=True):
    """The answer of a request without a result."""


A = TypeVar("A", bound=AnswerMessage)


class ProcessMessage(
    msgspec.Struct, frozen=True, tag=True, tag_field="message", forbid_unknown_fields=True
):
    """A request or an event. Its repr hides the values, because some are secrets."""

    def __repr__(self) -> str:
        """Return the name alone."""
        return f"{type(self).__name__}(…)"


class RequestMessage(ProcessMessage, Generic[A], frozen=True):
    """A message that gets an answer of type `A`."""


class EventMessage(ProcessMessage, frozen=True):
    """A message without an answer."""


M = TypeVar("M", bound=ProcessMessage)


class MessageReader(Generic[M]):
    """Decodes the messages that a process accepts, and reports the error of others."""

    def __init__(self, who: str, kinds: Iterable[type[M]]) -> None:
        """Args: `who` is the process, as errors name it."""
        known = tuple(kinds)
        self._who, self._names = who, {kind.__name__ for kind in known}
        self._decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(Union[known])  # noqa: UP007 - of a tuple

    def read(self, data: msgspec.Raw) -> M:
        """Return a message.

        Raises:
            ServerError: the message is unknown or malformed.
        """
        try:
            found: M = self._decoder.decode(data)
        except msgspec.MsgspecError as error:
            raise self._refuse(data, error) from None
        return found

    def _refuse(self, data: msgspec.Raw, error: Exception) -> ServerError:
        name = _find_name(data)
        if name not in self._names:
            return ServerError(f"{self._who} has no request '{name}'", hint=_FIX)
        return ServerError(f"request '{name}' to {self._who} is malformed: {error}", hint=_FIX)


class _Named(msgspec.Struct):
    message: str = ""


def _find_name(data: msgspec.Raw) -> str:
    try:
        return msgspec.msgpack.decode(data, type=_Named).message
    except msgspec.MsgspecError:
        return ""


@functools.cache
def answer_type(kind: type[RequestMessage[A]]) -> type[A]:
    """Return the answer type of a request type."""
    (base,) = kind.__orig_bases__  # type: ignore[attr-defined]
    found: type[A] = get_args(base)[0]
    return found


@functools.cache
def _answer_decoder(kind: type[RequestMessage[Any]]) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(answer_type(kind))


def read_answer(request: RequestMessage[A], data: msgspec.Raw, who: str) -> A:
    """Return the decoded answer of process `who`. Raises: ServerError: it is malformed."""
    try:
        answer: A = _answer_decoder(type(request)).decode(data)
    except msgspec.MsgspecError as error:
        name = type(request).__name__
        raise ServerError(
            f"{who} sent a malformed answer to '{name}': {error}", hint=_FIX
        ) from None
    return answer


def write_answer(request: RequestMessage[Any], answer: AnswerMessage) -> msgspec.Raw:
    """Return an encoded answer. Raises: TypeError: its type is not the request's."""
    if not isinstance(answer, answer_type(type(request))):
        raise TypeError(f"{type(answer).__name__} does not answer {type(request).__name__}")
    return encode(answer)


# ---- Transfer of errors between processes

_log = logging.getLogger(__name__)


def pack_error(number: int, error: Exception) -> ErrorFrame:
    """Return the error frame of a request. The log has the details of unexpected errors."""
    if isinstance(error, BbopsError):
        return ErrorFrame(number, type(error).__name__, error.message, error.hint)
    _log.error("unexpected %s", type(error).__name__, exc_info=error)
    message = f"unexpected error: {type(error).__name__}"
    hint = "this is a bug in bbops; see the server's log"
    return ErrorFrame(number, "ServerError", message, hint)


def unpack_error(failed: ErrorFrame) -> BbopsError:
    """Return the error of a frame; an unknown class becomes `BbopsError`."""
    kind = getattr(bbops.base.errors, failed.kind, BbopsError)
    if not issubclass(kind, BbopsError) or kind is bbops.base.errors.ProjectError:
        kind = BbopsError
    return kind(failed.message, hint=failed.hint)
