"""Keep files as the next frontend of a project."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from bbops_server.process.messages.request import Answer, Request


class PublishedFrontend(Answer, frozen=True):
    """The name of its tag, and its commit."""

    version: str
    commit: str


class PublishFrontend(Request[PublishedFrontend], frozen=True):
    """Keep files as the next frontend of a project."""

    source: Mapping[str, Any]
    """As `publish.build.sources.Source`."""

    folder: str
    """Where the files lie."""

    paths: list[str]
    """Of the files from there."""

    who: str
    subject: str
    """Of their commit."""

    engine: Literal["sqlite", "postgres"]
