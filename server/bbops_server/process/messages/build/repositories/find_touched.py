"""Find the parts of a repository that commits change."""

from __future__ import annotations

from bbops.source.git.parts import Part
from bbops_server.process.messages.request import Answer, Request


class Touched(Answer, frozen=True):
    """Whether each part is changed."""

    touched: list[bool]


class FindTouched(Request[Touched], frozen=True):
    """Find the parts of a repository that commits change."""

    repository: str
    quarantine: str
    commits: list[str]
    name: str
    """Of the main branch."""

    parts: list[Part]
