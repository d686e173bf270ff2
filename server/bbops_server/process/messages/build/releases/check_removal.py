"""Ask whether a commit removes more than the rules of another one let."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from bbops_server.process.messages.request import Answer, Request


class Removal(Answer, frozen=True):
    """Why it may not; empty where it may."""

    refused: str


class CheckRemoval(Request[Removal], frozen=True):
    """Ask whether a commit removes more than the rules of another one let."""

    source: Mapping[str, Any]
    """As `publish.build.sources.Source`."""

    base: Mapping[str, Any]
    """The other one, in the same form."""

    engine: Literal["sqlite", "postgres"]
