"""The tools of an agent, and the calls in a model's answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

import msgspec

from bbops.runtime.agents.conversation import ToolCall, ToolSpec
from bbops.runtime.agents.tables import write_json
from bbops.runtime.flow.run import Function, Run, Shape, invoke
from bbops.runtime.values.failures import BadValue, Failure, InvalidInput, JobFailure, Thrown

MOST_CHARACTERS: Final = 50_000
"""The most characters of a result that the model sees."""


@dataclass(frozen=True, slots=True)
class LinkedTool:
    """A function that a model can call.

    Attributes:
        shape: the arguments.
        parts: the names of the arguments of `input`, `params` and `query`.
        approval: whether a call waits for a person: always, never, or a condition on the
            arguments.
    """

    spec: ToolSpec
    function: Function
    shape: Shape
    parts: Mapping[str, Sequence[str]]
    approval: bool | Callable[[Any], Any]

    def check(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return typed arguments.

        Raises:
            WrongInput: they do not fit.
        """
        errors: dict[str, list[str]] = {}
        known = {name for names in self.parts.values() for name in names}
        for name in sorted(arguments.keys() - known):
            errors[name] = ["is no argument of this tool"]
        typed = self.shape(dict(arguments), "", errors)
        if errors:
            raise WrongInput(f"'{path}' {texts[0]}" for path, texts in errors.items())
        return typed

    def needs_approval(self, typed: Mapping[str, Any]) -> bool:
        """Return whether a call waits for a person; a condition that fails counts as true."""
        if isinstance(self.approval, bool):
            return self.approval
        try:
            return bool(self.approval(typed))
        except Exception:  # noqa: BLE001 - in doubt, a person decides
            return True

    async def call(self, run: Run, arguments: Mapping[str, Any]) -> str:
        """Return the result of a call as JSON.

        Raises:
            ToolFailure: the function failed, with a message for the model.
            JobFailure: a limit of the job.
        """
        given = {
            part: {name: arguments[name] for name in names if name in arguments}
            for part, names in self.parts.items()
        }
        try:
            value = await invoke(
                run, self.function, given["input"], given["params"], given["query"]
            )
        except JobFailure:
            raise
        except Failure as failure:
            raise ToolFailure(describe_failure(failure)) from failure
        try:
            return cut(write_json(value))
        except TypeError:
            raise ToolFailure(
                "the tool gives a file or a stream, which an agent cannot read"
            ) from None


class WrongInput(Exception):
    """The model called a tool with arguments that do not fit."""

    def __init__(self, problems: Any) -> None:
        super().__init__("; ".join(problems))


class ToolFailure(Exception):
    """A tool failed; the message is for the model."""


def describe_failure(failure: Failure) -> str:
    """Return the text of a failure for a client, as JSON."""
    found: dict[str, Any] = {"status": failure.status, "code": failure.code or "error"}
    if isinstance(failure, Thrown):
        if isinstance(failure.value, dict | list | str | int | float | bool):
            found["value"] = failure.value
        if failure.message:
            found["message"] = failure.message
    elif isinstance(failure, InvalidInput | BadValue):
        found |= {"message": "invalid values", "fields": dict(failure.fields)}
    return cut(write_json(found))


def cut(text: str) -> str:
    """Return a result, shortened to what a model sees of it."""
    if len(text) <= MOST_CHARACTERS:
        return text
    more = len(text) - MOST_CHARACTERS
    return f"{text[:MOST_CHARACTERS]}… ({more:,} more characters are left out)"


@dataclass(slots=True)
class Patience:
    """Counts the mistakes of a model: the third one ends the run."""

    most: int = 2
    found: int = field(default=0)

    def is_over(self) -> bool:
        """Count a mistake; return whether there were too many."""
        self.found += 1
        return self.found > self.most


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
