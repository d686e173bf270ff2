"""Read, load, check and compile a commit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from bbops.base.json_diagnostics import JsonDiagnostic
from bbops_server.process.messages.request import Answer, Request


class BuiltRelease(Answer, frozen=True):
    """A release, or what is wrong with the commit: then only the first fields say something.

    Attributes:
        compiled: how many resources were compiled anew.
        env: how each variable is declared.
        gate: whether its tests must pass.
        signs: the variable that signs tokens; empty without one.
        signing_secrets: the variable, the scheme and the place of each secret of webhooks.
        review: the rules of review.
        reaches: the hosts that it may reach.
        frontend: the manifest of its files; empty without any.
        tagged: the revision of files that are tagged beside it; empty where it has its own.
    """

    ok: bool
    diagnostics: list[JsonDiagnostic]
    digest: str
    revision: str
    subject: str
    author: str
    compiled: int
    frontend: str
    tagged: str
    milliseconds: int
    artifact: str = ""
    env: dict[str, Any] = {}
    project: str = ""
    durability: Literal["normal", "full"] = "normal"
    gate: bool = False
    signs: str = ""
    signing_secrets: list[tuple[str, str, str]] = []
    review: dict[str, Any] = {}
    reaches: dict[str, Any] = {}


class BuildRelease(Request[BuiltRelease], frozen=True):
    """Read, load, check and compile a commit."""

    source: Mapping[str, Any]
    """As `publish.build.sources.Source`."""

    artifacts: str
    """The folder for what is built, in the project's state folder."""

    engine: Literal["sqlite", "postgres"] = "sqlite"
    live: str = ""
    """The commit that is live, empty for none."""

    off: tuple[str, ...] = ()
    """Features that are off."""

    files_stay_here: bool = False
    """Whether files are on this server only, while other servers may have the same database."""

    browser: str = ""
    """What is wrong with the browser that prints; empty for nothing."""
