"""Answers that the server gives by itself, and sign-in as project.yaml words them."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.check._outside import Outside
from bbops.diagnostics import Diagnostic
from bbops.expressions.types import ANY, INTEGER, TEXT, map_of
from bbops.project import Project

_ERROR = {"code": TEXT, "message": TEXT, "status": INTEGER, "fields": ANY}
_ANSWER = {"error": map_of(_ERROR, "error")}
_MESSAGE = {"error": map_of({**_ERROR, "limit": ANY}, "error")}


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield mistakes in `errors`."""
    settings, errors = project.settings, project.settings.model.errors
    answers, messages = Outside(settings, _ANSWER), Outside(settings, _MESSAGE)
    for key, answer in errors.answers.items():
        answers.value(answer.value, "errors", key, "value")
    for name, field in type(errors.messages).model_fields.items():
        key = field.alias or name
        messages.value(getattr(errors.messages, name), "errors", "messages", key)
    yield from [*answers.found, *messages.found]
