"""Errors of requests: their reason in the history, and the texts of a project's `errors`.

The server's own messages have names and limits, never values. A message that a function computes
may quote the request: the values that the history hides are removed from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from traceback import walk_tb
from types import FrameType
from typing import Any, Final

from bbops.runtime.flow.masking import MASK, Mask
from bbops.runtime.flow.run import code_of
from bbops.runtime.values.failures import Failure, FlowError, Thrown
from bbops.runtime.values.values import FUEL

MAX_MESSAGE: Final = 300
MAX_FIELDS: Final = 20
_MAX_VALUES: Final = 5_000
"""Values of a request that are searched for hidden ones; with more, the message is left out."""
_MAX_DEPTH: Final = 64
_SOURCES: Final = ("input", "query", "params", "headers")
_TOKENS: Final = ("credential", "kept")
_MESSAGES: Final = ("message", "detail", "title")
"""Names of the message in common formats of errors, such as RFC 9457."""

Refusal = dict[str, Any]
"""`code`, `message`, `fields` (name → messages), and `place`, the file and line of a `throw`."""


def describe_refusal(
    error: BaseException, code: str, body: Mapping[str, Any], mask: Mask
) -> Refusal:
    """Return the reason of a refusal, without secrets.

    Args:
        error: the failure that was raised.
        code: its code.
        body: its automatic body, with `message` and perhaps `fields`; for a body that the function
            has written, an empty one.
        mask: the mask of the release.
    """
    frames = [
        (frame, line)
        for frame, line in walk_tb(error.__traceback__)
        if frame.f_code.co_filename.endswith(".yaml")
    ]
    message = str(body.get("message", "")) or _read_message(error)
    if frames and message and message not in frames[-1][0].f_code.co_consts:
        message = _hide(message, [frame for frame, _ in frames], mask)
    fields = {
        mask.text(str(name))[:MAX_MESSAGE]: [mask.text(str(text))[:MAX_MESSAGE] for text in texts]
        for name, texts in [*body.get("fields", {}).items()][:MAX_FIELDS]
    }
    place = f"{frames[-1][0].f_code.co_filename}:{frames[-1][1]}" if frames else ""
    return {
        "code": code, "message": mask.text(message)[:MAX_MESSAGE], "fields": fields, "place": place,
    }  # fmt: skip


def _read_message(error: BaseException) -> str:
    """Return the message in a body that a function has written; empty without one."""
    value = error.value if isinstance(error, Thrown) else None
    nested = value.get("error") if isinstance(value, dict) else None
    if isinstance(nested, str):
        return nested
    for found in (value, nested):
        if isinstance(found, dict):
            for name in _MESSAGES:
                if isinstance(found.get(name), str):
                    return str(found[name])
    return ""


def _hide(message: str, frames: list[FrameType], mask: Mask) -> str:
    """Return a message without the values of the request that the history hides."""
    hidden = set[str]()
    for count, (is_hidden, value) in enumerate(_list_values(frames, mask)):
        if count >= _MAX_VALUES:
            return MASK
        if is_hidden and type(value) is not bool and value not in (None, ""):
            hidden.add(str(value))
    for value in sorted(hidden, key=len, reverse=True):
        message = message.replace(value, MASK)
    return message


def _list_values(frames: list[FrameType], mask: Mask) -> Iterator[tuple[bool, Any]]:
    """Yield the values of a request, and whether the history hides them."""
    for frame in frames:
        run = frame.f_locals.get("run")
        for name in _SOURCES:
            yield from _walk(getattr(run, name, None), mask, is_hidden=False, depth=0)
        for name in _TOKENS:
            yield True, getattr(run, name, None)


def _walk(value: Any, mask: Mask, *, is_hidden: bool, depth: int) -> Iterator[tuple[bool, Any]]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, Mapping):
        for name, member in value.items():
            hides = is_hidden or mask.hides(str(name))
            yield from _walk(member, mask, is_hidden=hides, depth=depth + 1)
    elif isinstance(value, list | tuple):
        for member in value:
            yield from _walk(member, mask, is_hidden=is_hidden, depth=depth + 1)
    else:
        yield is_hidden, value


Worded = Callable[[Any, Mapping[str, Any]], Any]
"""Takes the host's doors and `error`; returns the value that the project gives."""

MOST_FUEL: Final = 10_000
"""What one answer may spend on large values."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One of `errors`: what it says, where it says something."""

    status: int | None
    value: Worded | None


class Wording:
    """The words of one project; without any, those of the server."""

    def __init__(
        self, answers: Mapping[str, Entry], messages: Mapping[str, Worded], host: Any
    ) -> None:
        """Args: `answers` by the code of what happened, or `default`; `messages` by rule."""
        self._answers, self._messages, self._host = answers, messages, host

    def answer(self, status: int, error: dict[str, Any]) -> tuple[int, Any]:
        """Return status and body of an automatic answer.

        Args:
            status: what it has where nobody changes it.
            error: its body by itself. A project reads no more of it than `error.code`, `message`
                and `fields`: what only the author of a function may know is not among them.
        """
        entry = self._answers.get(code_of(status)) or self._answers.get("default")
        if entry is None:
            return status, {"error": error}
        sent = entry.status or status
        if entry.value is None:
            return sent, {"error": error}
        read = {"code": error["code"], "message": error["message"], "status": sent}
        try:
            value = self._compute(entry.value, read | {"fields": error.get("fields", {})})
        except Failure as problem:
            self._host.log.write("error", f"'errors' of project.yaml: {problem.message}", {})
            return sent, {"error": error}
        return sent, value

    def say(self, rule: str, limit: Any, text: str) -> str:
        """Return the message of a broken rule; `text` is the usual one.

        Raises:
            FlowError: the project's message cannot be computed, or is no text.
        """
        message = self._messages.get(rule)
        if message is None:
            return text
        error = {"code": "invalidInput", "status": 400, "fields": {}}
        said = self._compute(message, error | {"message": text, "limit": limit})
        if type(said) is not str:
            raise FlowError(f"'errors.messages.{rule}' of project.yaml does not return text")
        return said

    def _compute(self, value: Worded, error: Mapping[str, Any]) -> Any:
        token = FUEL.set([MOST_FUEL])
        try:
            return value(self._host, error)
        finally:
            FUEL.reset(token)
