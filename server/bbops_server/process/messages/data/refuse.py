"""Answer every route of a project with these diagnostics until its next release."""

from __future__ import annotations

from bbops.base.json_diagnostics import JsonDiagnostic
from bbops_server.process.messages.request import Done, Request


class Refuse(Request[Done], frozen=True):
    """Answer every route of a project with these diagnostics until its next release."""

    project: str
    diagnostics: list[JsonDiagnostic]
