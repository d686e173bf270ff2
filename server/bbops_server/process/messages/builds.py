"""Builds: checks, artifacts, tests and summaries of a commit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from bbops.base.json_diagnostics import JsonDiagnostic
from bbops_server.process.messages.forks import CaseReport
from bbops_server.process.messages.request import AnswerMessage, DoneAnswer, RequestMessage


class BuiltRelease(AnswerMessage, frozen=True):
    """A built release, or the diagnostics of a commit that cannot be built.

    Attributes:
        compiled: the number of recompiled resources.
        env: the declaration of each variable.
        gate: failing tests block its publication.
        signs: the variable with the signing key of tokens; empty without one.
        signing_secrets: variable, scheme and place of each webhook secret.
        review: the review rules.
        reaches: hosts of outgoing requests.
        frontend: the manifest of its files; empty without files.
        tagged: the revision of its separately tagged frontend; empty if it has its own.
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


class BuildRelease(RequestMessage[BuiltRelease], frozen=True):
    """Read, load, check and compile a commit."""

    source: Mapping[str, Any]
    """A `publish.build.sources.Source`."""

    artifacts: str
    """The folder for artifacts, in the project's state folder."""

    engine: Literal["sqlite", "postgres"] = "sqlite"
    live: str = ""
    """The live commit; empty without one."""

    off: tuple[str, ...] = ()
    """Disabled features."""

    files_stay_here: bool = False
    """Whether stored files are only on this server while others share its database."""

    browser: str = ""
    """The reason why the printing browser is unavailable; empty if it is available."""


class CheckedPush(AnswerMessage, frozen=True):
    """The result of a check.

    Attributes:
        ok: the commit can be built.
        follows: `old` is an ancestor.
        removed: the removal limit that it exceeds; empty otherwise.
    """

    ok: bool
    diagnostics: list[JsonDiagnostic]
    follows: bool
    removed: str


class CheckPush(RequestMessage[CheckedPush], frozen=True):
    """Check a pushed commit."""

    source: Mapping[str, Any]
    """A `publish.build.sources.Source`."""

    old: str
    """The branch's previous commit; empty without one."""

    engine: Literal["sqlite", "postgres"]
    bounds: bool
    """Whether to check the project's removal limits."""

    live: str
    """The live commit; empty without one."""

    off: tuple[str, ...]


class CheckRemovalAnswer(AnswerMessage, frozen=True):
    """The exceeded limit; empty if the removal is allowed."""

    refused: str


class CheckRemoval(RequestMessage[CheckRemovalAnswer], frozen=True):
    """Check a commit against the removal limits of its base."""

    source: Mapping[str, Any]
    """A `publish.build.sources.Source`."""

    base: Mapping[str, Any]
    """The base, in the same form."""

    engine: Literal["sqlite", "postgres"]


class FindSecretAnswer(AnswerMessage, frozen=True):
    """A file with a secret, and the secret's name; None if no file has one."""

    found: tuple[str, str] | None


class FindSecret(RequestMessage[FindSecretAnswer], frozen=True):
    """Search the files of a frontend for secrets."""

    state: str
    frontend: str
    """The manifest of its files."""

    values: dict[str, str]
    """Secrets by name."""


class PublishFrontendAnswer(AnswerMessage, frozen=True):
    """A frontend's tag and commit."""

    version: str
    commit: str


class PublishFrontend(RequestMessage[PublishFrontendAnswer], frozen=True):
    """Commit and tag files as the next frontend of a project."""

    source: Mapping[str, Any]
    """A `publish.build.sources.Source`."""

    folder: str
    """The folder of the files."""

    paths: list[str]
    """Paths of the files below the folder."""

    who: str
    subject: str
    """The commit's subject."""

    engine: Literal["sqlite", "postgres"]


class RunBuildTests(RequestMessage[CaseReport], frozen=True):
    """Run the tests of a built release."""

    state: str
    digest: str


class RunCommitTests(RequestMessage[CaseReport], frozen=True):
    """Run the tests of a commit without building a release."""

    source: Mapping[str, Any]
    """A `publish.build.sources.Source`."""

    state: str
    """The state folder; a new run ends an earlier run of the same folder."""

    engine: Literal["sqlite", "postgres"]
    off: tuple[str, ...]
    is_checked: bool = False
    """Whether another request has found no errors: then only its own process compiles it."""


class EndTests(RequestMessage[DoneAnswer], frozen=True):
    """End the test run of a project."""

    state: str


class SummarizeAnswer(AnswerMessage, frozen=True):
    """A line about the changes; empty if they cannot be compared."""

    plan: str


class Summarize(RequestMessage[SummarizeAnswer], frozen=True):
    """Summarize the changes of a release in one line, without its database."""

    source: Mapping[str, Any]
    """A `publish.build.sources.Source`."""

    base: Mapping[str, Any]
    """The previous live commit, in the same form."""

    engine: Literal["sqlite", "postgres"]


class WrittenContract(AnswerMessage, frozen=True):
    """The text of a contract."""

    text: str
    content_type: str
    digest: str


class WriteContract(RequestMessage[WrittenContract], frozen=True):
    """Render the API contract of a commit."""

    source: Mapping[str, Any]
    """A `publish.build.sources.Source`."""

    form: str
    """The contract's format."""

    url: str
    engine: Literal["sqlite", "postgres"]


class ComparedCommits(AnswerMessage, frozen=True):
    """The plan from one commit to another, and their difference.

    Attributes:
        plan: the output of `bbops plan --json`.
        text: the output of `bbops plan`.
        diff: the patch of the files, at most its first 1 MB.
    """

    plan: dict[str, Any]
    text: str
    diff: str


class CompareCommits(RequestMessage[ComparedCommits], frozen=True):
    """Plan the change from one commit of a project to another, without its data."""

    base: Mapping[str, Any]
    """A `publish.build.sources.Source`."""

    head: Mapping[str, Any]
    """The later commit, in the same form."""

    engine: Literal["sqlite", "postgres"]


class WrittenOutline(AnswerMessage, frozen=True):
    """The outline of a commit as JSON, or the errors of a commit without one.

    Attributes:
        text: an `Outline`; empty if the commit has errors.
        digest: identifies the text.
        commit: the commit; empty for a folder.
    """

    text: str
    digest: str
    commit: str
    diagnostics: list[JsonDiagnostic]


class WriteOutline(RequestMessage[WrittenOutline], frozen=True):
    """Render the outline of a commit."""

    source: Mapping[str, Any]
    """A `publish.build.sources.Source`."""

    engine: Literal["sqlite", "postgres"]


class ProjectFileAnswer(AnswerMessage, frozen=True):
    """The text of a file; None if the file does not exist or exceeds 1 MB."""

    text: str | None


class ReadProjectFile(RequestMessage[ProjectFileAnswer], frozen=True):
    """Read a text file of a commit."""

    source: Mapping[str, Any]
    """A `publish.build.sources.Source`."""

    path: str
    """The path from the project's root."""
