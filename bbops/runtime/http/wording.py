"""The answers that the server gives by itself, as a project words them: its `errors`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from bbops.runtime.flow.run import code_of
from bbops.runtime.values.failures import Failure, FlowError
from bbops.runtime.values.values import FUEL

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
