"""The reason of a refused request, for the request history: code, message and fields at fault.

The server's own messages have names and limits, never values. A message that a function computes
may quote the request: the values that the history hides are removed from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from traceback import walk_tb
from types import FrameType
from typing import Any, Final

from bbops.runtime.flow.masking import MASK, Mask
from bbops.runtime.values.failures import Thrown

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
