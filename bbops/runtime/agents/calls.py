"""Calls of tools in a model's answer: ids, names and arguments that vendors accept again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

import msgspec

from bbops.runtime.agents.conversation import ToolCall

NO_NAME: Final = "unknown"
_ID: Final = re.compile(r"[A-Za-z0-9_-]+").fullmatch
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]")
_MOST_NAME: Final = 64
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class GivenCall:
    """A call as the vendor gives it.

    Attributes:
        arguments: a map, or the text of one.
    """

    id: Any
    name: Any
    arguments: Any


def read_calls(given: Sequence[GivenCall], seed: Any) -> tuple[ToolCall, ...]:
    """Return the calls of an answer, each with an id of its own.

    Args:
        given: the calls in their order.
        seed: JSON that other answers do not have; ids that are missing are made of it.
    """
    calls: list[ToolCall] = []
    taken: set[str] = set()
    for place, call in enumerate(given):
        known = call.id if isinstance(call.id, str) and call.id.strip() else ""
        name = call.name if isinstance(call.name, str) else ""
        if not known or known in taken:
            known = _new_id([seed, place, known, name])
        taken.add(known)
        arguments, text = read_arguments(call.arguments)
        calls.append(ToolCall(known, name, arguments, text))
    return tuple(calls)


def read_arguments(given: Any) -> tuple[dict[str, Any] | None, str]:
    """Return the arguments of a call, or None and what the model wrote instead of a map."""
    if isinstance(given, dict):
        return given, ""
    if given is None or (isinstance(given, str) and not given.strip()):
        return {}, ""
    if not isinstance(given, str):
        return None, write_arguments(given)
    try:
        found = _decode(given)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None, given
    return (found, "") if isinstance(found, dict) else (None, given)


def write_arguments(arguments: Any) -> str:
    """Return arguments as JSON."""
    return str(_encode(arguments), "utf-8")


def safe_id(name: str) -> str:
    """Return an id of letters, digits, `_` and `-`: the same, or a digest."""
    return name if _ID(name) else _new_id(name)


def safe_name(name: str) -> str:
    """Return a name of a tool that each vendor accepts: models call tools that do not exist."""
    return _NOT_IN_NAMES.sub("_", name)[:_MOST_NAME] or NO_NAME


def _new_id(seed: Any) -> str:
    return f"call_{sha256(_encode(seed)).hexdigest()[:24]}"
