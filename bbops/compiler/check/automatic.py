"""Answers that the server gives by itself, and sign-in as project.yaml words them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bbops.base.diagnostics import Diagnostic
from bbops.compiler.check._outside import Outside
from bbops.language.expressions.types import ANY, INTEGER, TEXT, map_of
from bbops.language.project import Project

_ERROR = {"code": TEXT, "message": TEXT, "status": INTEGER, "fields": ANY}
ANSWER: Final = {"error": map_of(_ERROR, "error")}
"""What the value of an answer may read."""
MESSAGE: Final = {"error": map_of({**_ERROR, "limit": ANY}, "error")}
"""What the text of a rule may read."""


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield mistakes in `errors`."""
    settings, errors = project.settings, project.settings.model.errors
    answers, messages = Outside(settings, ANSWER), Outside(settings, MESSAGE)
    for key, answer in errors.answers.items():
        answers.value(answer.value, "errors", key, "value")
    for rule, message in errors.messages.given.items():
        of = messages.value(message, "errors", "messages", rule)
        if of.kind not in {"text", "any"}:
            place = settings.place("errors", "messages", rule)
            yield Diagnostic(place, "type", f"a message must be text, got {of}")
    yield from [*answers.found, *messages.found]
