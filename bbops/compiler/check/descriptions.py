"""What the documentation of the API shows has a description."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.base.diagnostics import Diagnostic
from bbops.language.project import Project


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield a warning for each visible endpoint that does not say what it does."""
    for endpoint in project.endpoints.values():
        model = endpoint.model
        if model.docs_visibility == "visible" and not model.description:
            yield Diagnostic(
                endpoint.place(), "no-description", "the endpoint has no 'description'",
                "describe what it does for callers, or set 'docsVisibility: hidden'",
                severity="warning",
            )  # fmt: skip
