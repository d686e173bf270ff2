"""Answers that go on as a stream, where something needs the whole answer."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.base.diagnostics import Diagnostic
from bbops.language.project import Project, function_of
from bbops.language.steps.return_ import Return

_HINT = "return the step's result as a 'value' there"


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield each endpoint that would have to keep, or to read, an answer that is a stream."""
    session = project.settings.model.session
    named = () if session is None else (
        ("login", session.login), ("signup", session.signup), ("refresh", session.refresh),
        ("logout", session.logout),
    )  # fmt: skip
    for endpoint in project.endpoints.values():
        function = project.functions.get(function_of(endpoint))
        if function is None or not any(
            isinstance(step, Return) and step.return_.stream is not None
            for step in function.model.every_step
        ):
            continue
        if endpoint.model.idempotency:
            yield Diagnostic(
                endpoint.place("idempotency", key=True), "stream-place",
                f"'idempotency' keeps answers, and {function.file} answers with a 'stream'", _HINT,
            )  # fmt: skip
        for key, name in named:
            if name == endpoint.name:
                yield Diagnostic(
                    project.settings.place("session", key), "stream-place",
                    f"'{key}' reads tokens in answers, and {function.file} answers with a 'stream'",
                    _HINT,
                )  # fmt: skip
