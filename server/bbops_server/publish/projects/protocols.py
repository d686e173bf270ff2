"""Protocols of the control plane: projects, drafts, versions, frontends and webhooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from bbops.interfaces.answers import (
    CommitStatus,
    DraftStatus,
    ForgeStatus,
    LiveFrontend,
    Publication,
    PullStatus,
    ServerStatus,
    Status,
)
from bbops_server.process.messages.lifecycle import MetricSample
from bbops_server.publish.processes.project_client import ProjectClient
from bbops_server.publish.status.status import RenderedContract, RenderedOutline, Signal

if TYPE_CHECKING:
    from bbops_server.publish.pull_requests.effects import PullEffect


class DraftSource(Protocol):
    """The drafts of a project."""

    changed: Signal
    """Sent after each change of a draft's status."""

    def list(self) -> list[DraftStatus]:
        """Return every draft, the newest commit first."""
        ...

    def find(self, name: str) -> DraftStatus | None:
        """Return a draft by slug or branch."""
        ...

    def key(self, slug: str) -> bytes:
        """Return the signing key of a draft's tokens."""
        ...

    def url_of(self, branch: str) -> str:
        """Return the preview URL of a branch, which need not exist yet."""
        ...

    def here(self, slug: str) -> tuple[str, str]:
        """Return the local address of a draft, and its Host header."""
        ...

    def history(self, slug: str) -> Path:
        """Return the file of a draft's request history."""
        ...

    def refresh(self) -> None:
        """Poll the branches now."""
        ...

    def prepare(self, branch: str) -> None:
        """Create the draft of a branch before its first request."""
        ...

    def build(self, branch: str) -> bool:
        """Poll the repository now, and build the draft of a branch; False if it is not known."""
        ...

    async def renew(self, slug: str) -> bool:
        """Reset a draft to an empty database; False if it does not exist."""
        ...

    async def allow(
        self, slug: str, commit: str, hosts: Sequence[str], who: str, project: str
    ) -> tuple[str, ...]:  # fmt: skip
        """Allow hosts for a draft's newest commit only; return all that are allowed for it.

        Raises:
            ServerError: the draft has another commit, or a host name is invalid.
        """
        ...

    async def copy_rows(
        self, slug: str, tables: Sequence[str], *, limit: int, masked: Sequence[str]
    ) -> dict[str, int]:
        """Copy live rows into a draft without private columns; return the counts by table."""
        ...

    def client(self, slug: str) -> ProjectClient:
        """Return the client for a draft's process, which requests wake."""
        ...

    async def contract(self, slug: str, form: str) -> RenderedContract:
        """Return the contract of a draft. Raises: BbopsError: the draft has errors."""
        ...

    async def outline(self, slug: str) -> RenderedOutline:
        """Return the outline of a draft's newest commit, or its errors.

        Raises:
            BbopsError: the commit cannot be read.
        """
        ...

    async def read_file(self, slug: str, path: str) -> str | None:
        """Return the text of a file of a draft; None if it does not exist. Raises as `outline`."""
        ...

    def find_values(self, variables: Sequence[str]) -> frozenset[str]:
        """Return the variables that have a value for drafts, never the values.

        Raises:
            BbopsError: the store cannot be read.
        """
        ...


class PullSource(Protocol):
    """The pull requests of a project on a forge."""

    changed: Signal
    """Sent after each update."""

    def status(self) -> ForgeStatus:
        """Return the open pull requests, newest first."""
        ...

    def allow(self, number: int, head: str, who: str) -> str:
        """Allow the code of a fork's head to run here; return the full commit. Blocks.

        Raises:
            ServerError: there is no such open pull request of a fork, or its head is another one.
        """
        ...

    def find(self, number: int) -> PullStatus | None:
        """Return an open pull request."""
        ...

    def find_effect(self, number: int, head: str) -> PullEffect | None:
        """Return the effect of merging a head; None if it is not known yet."""
        ...

    def find_plan(self, number: int, head: str) -> str:
        """Return the plan of a head as it is posted, in Markdown; empty if it is not known."""
        ...

    def refresh(self) -> None:
        """Read the list of pull requests now."""
        ...

    def update(self) -> None:
        """Compare the state on the forge now."""
        ...


class VersionSource(Protocol):
    """The publications and versions of a project."""

    def publications(self, limit: int) -> list[Publication]:
        """Return the latest attempts, newest last."""
        ...

    def suspend(self, who: str, reason: str) -> None:
        """Suspend publishing."""
        ...

    def resume(self) -> bool:
        """Resume publishing; return whether it was suspended."""
        ...

    def exempt(self, who: str, account: str) -> str:
        """Exempt the newest revision from a freeze; return the revision.

        Args:
            who: the e-mail address of the user.
            account: the id of the user's account; empty for the user of this machine.
        """
        ...

    async def tags(self) -> list[dict[str, Any]]:
        """Return the versions in the repository, newest first."""
        ...

    async def restore(self, version: str, only: list[str], who: str) -> dict[str, Any]:
        """Create a commit that restores a version, without moving a branch."""
        ...

    async def compare(self, old: str, new: str) -> dict[str, Any]:
        """Return the plan and the difference of two versions."""
        ...

    async def locate(self, commit: str) -> CommitStatus:
        """Return the place of a commit in the history of the branch.

        Raises:
            BbopsError: the repository cannot be read.
        """
        ...

    async def put(self, restored: Mapping[str, str]) -> None:
        """Move the branch to a commit of `restore`."""
        ...

    def require_open(self, version: str) -> None:
        """Raise ServerError while publishing is suspended or frozen."""
        ...


class FrontendSource(Protocol):
    """The frontends of a project."""

    async def list(self) -> list[dict[str, Any]]:
        """Return the separately published frontends, newest first."""
        ...

    async def live(self) -> LiveFrontend | None:
        """Return the files of the live frontend; None without one."""
        ...

    async def publish(
        self, folder: Path, paths: Sequence[str], *, who: str, subject: str
    ) -> dict[str, Any]:
        """Tag files as the next frontend; return `version`, `commit`, `is_live`, `message`."""
        ...


class HookSource(Protocol):
    """The server's own webhooks, see `bbops_server.process.webhooks.outbox`."""

    def messages(self, limit: int) -> list[dict[str, Any]]:
        """Return the latest messages, newest first."""
        ...

    async def test(self, wanted: str) -> list[dict[str, Any]]:
        """Send a ping to receivers; return their responses."""
        ...

    async def resend(self, wanted: str) -> dict[str, Any]:
        """Resend a message; return the response."""
        ...


class StatusSource(Protocol):
    """The state of the server and its projects."""

    def server(self) -> ServerStatus:
        """Return the status of the server's own settings."""
        ...

    def hooks(self) -> HookSource | None:
        """Return the server's webhooks; None while the server starts."""
        ...

    def projects(self) -> list[Status]:
        """Return every project's status."""
        ...

    def reconcile(self, name: str, *, again: bool = False) -> datetime | None:
        """Request an attempt now; `again` publishes a live commit again.

        Returns:
            The time of the request, see `Status.handled_at`; None if the project does not exist.
        """
        ...

    def poll(self, name: str, *, lists_pulls: bool = True) -> bool:
        """Fetch a project's repository and its drafts now; False if the project does not exist.

        Args:
            name: the name of the project.
            lists_pulls: whether the list of its pull requests is read, too.
        """
        ...

    def accept(self, name: str, commit: str, base: str, who: str) -> bool:
        """Accept a held commit; False if the project does not exist.

        `base` is the live commit if every commit since then is accepted; `who` is the e-mail
        address of the user.

        Raises:
            ServerError: no commit or another one is held.
        """
        ...

    def recheck_decisions(self) -> None:
        """Check whether the users of earlier decisions may still make them."""
        ...

    def history(self, name: str) -> Path | None:
        """Return the file of a project's request history; None if the project does not exist."""
        ...

    def drafts(self, name: str) -> DraftSource | None:
        """Return a project's drafts; None if the project does not exist."""
        ...

    def pulls(self, name: str) -> PullSource | None:
        """Return a project's pull requests; None without a forge."""
        ...

    def versions(self, name: str) -> VersionSource | None:
        """Return a project's history; None if the project does not exist."""
        ...

    def frontends(self, name: str) -> FrontendSource | None:
        """Return a project's frontends; None if the project does not exist."""
        ...

    async def plan_live(
        self, name: str, tables: Mapping[str, Mapping[str, Any]], env: Sequence[str]
    ) -> dict[str, Any] | None:
        """Return the effect of other tables on the live data; None if the project does not exist.

        Raises:
            BbopsError: the tables have errors, or the database is unavailable.
        """
        ...

    def client(self, name: str) -> ProjectClient | None:
        """Return the client for a project's processes; None if the project does not exist."""
        ...

    async def metrics(self) -> list[MetricSample]:
        """Return the metrics of all processes. Raises: BbopsError: a process is unavailable."""
        ...

    async def contract(self, name: str, form: str) -> RenderedContract | None:
        """Return the contract of the live commit; None if the project does not exist.

        Raises:
            BbopsError: nothing is live, or the commit cannot be read.
        """
        ...

    async def outline(self, name: str) -> RenderedOutline | None:
        """Return the outline of the live commit; None if the project does not exist.

        Raises:
            BbopsError: nothing is live, or the commit cannot be read.
        """
        ...

    async def read_file(self, name: str, path: str) -> str | None:
        """Return the text of a file of the live commit; None if it does not exist.

        Raises as `outline`.
        """
        ...

    def find_values(self, name: str, variables: Sequence[str]) -> frozenset[str]:
        """Return the variables that have a value on this server, never the values.

        Raises:
            BbopsError: the store cannot be read.
        """
        ...
