"""What the control plane asks about projects, however many there are and whoever follows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol

from bbops.base.json_addons import TestedAddon
from bbops.base.json_deliveries import Delivery, DeliveryStory, JsonReceiver
from bbops.base.json_events import LoggedEvent
from bbops.base.json_jobs import ChangedJobs, JobList, JobStory, TaskTicks
from bbops.interfaces.answers import DraftStatus, Publication, ServerStatus, Status
from bbops_server.process.messages.data.read_metrics import Sample
from bbops_server.publish.status.signal import Signal
from bbops_server.publish.status.status import Written


class DraftSource(Protocol):
    """What the control plane asks about the drafts of one project."""

    changed: Signal
    """Sent after each change of what `find` returns."""

    def list(self) -> list[DraftStatus]:
        """Return every draft, the one committed to last first."""
        ...

    def find(self, name: str) -> DraftStatus | None:
        """Return the draft of a slug or a branch."""
        ...

    def key(self, slug: str) -> bytes:
        """Return what the tokens of a draft are made with."""
        ...

    def url_of(self, branch: str) -> str:
        """Return where a branch is previewed, whether or not it is there yet."""
        ...

    def here(self, slug: str) -> tuple[str, str]:
        """Return where this machine itself reaches a draft, and the Host that it is asked as."""
        ...

    def history(self, slug: str) -> Path:
        """Return where a draft's requests are remembered."""
        ...

    def refresh(self) -> None:
        """Look at the branches now."""
        ...

    def prepare(self, branch: str) -> None:
        """Make the draft of a branch now, so that who asks for it first need not wait."""
        ...

    async def renew(self, slug: str) -> bool:
        """Let a draft start again with an empty database; False when there is none."""
        ...

    async def allow(self, slug: str, commit: str, hosts: Sequence[str]) -> tuple[str, ...]:
        """Let a draft reach hosts at its newest commit alone; return all that were allowed for it.

        Raises:
            ServerError: it is at another commit, or one is no name of a host.
        """
        ...

    async def copy_rows(
        self, slug: str, tables: Sequence[str], *, limit: int, masked: Sequence[str]
    ) -> dict[str, int]:
        """Copy rows of the live database into a draft's, without what is private; count them."""
        ...

    def keys(self, slug: str) -> KeySource:
        """Return the API keys of a draft, which is woken for them."""
        ...

    def work(self, slug: str) -> DraftWorkSource:
        """Return what a draft does outside of requests; it is woken for that."""
        ...

    async def contract(self, slug: str, form: str) -> Written:
        """Return what a draft publishes to its callers. Raises: BbopsError: it has mistakes."""
        ...


class VersionSource(Protocol):
    """What the control plane asks about the history of one project."""

    def publications(self, limit: int) -> list[Publication]:
        """Return the newest attempts, the newest last."""
        ...

    def suspend(self, who: str, reason: str) -> None:
        """Let nothing new go live."""
        ...

    def resume(self) -> bool:
        """Let what is newest go live; return whether that was suspended."""
        ...

    def exempt(self, who: str) -> str:
        """Let the newest revision through a freeze; return it."""
        ...

    async def tags(self) -> list[dict[str, Any]]:
        """Return the versions in the repository, newest first."""
        ...

    async def restore(self, version: str, only: list[str], who: str) -> dict[str, Any]:
        """Make a commit that restores a version, and that no branch holds yet."""
        ...

    async def put(self, restored: Mapping[str, str]) -> None:
        """Let the branch hold what `restore` has made."""
        ...

    def require_open(self, version: str) -> None:
        """Demand that nothing keeps commits from going live now."""
        ...


class FrontendSource(Protocol):
    """What the control plane asks about the frontends of one project."""

    async def list(self) -> list[dict[str, Any]]:
        """Return those that were published on their own, newest first."""
        ...

    async def publish(
        self, folder: Path, paths: Sequence[str], *, who: str, subject: str
    ) -> dict[str, Any]:
        """Tag files as the next frontend; return `version`, `commit`, `is_live`, `message`."""
        ...


class KeySource(Protocol):
    """What the control plane asks about the API keys of one project; BbopsError where it cannot."""

    async def list(self) -> list[dict[str, Any]]:
        """Return what is known of each key, newest first."""
        ...

    async def issue(self, name: str, **given: Any) -> dict[str, str]:
        """Make a key and return {id, key}."""
        ...

    async def rotate(self, key: str, overlap: str) -> dict[str, str]:
        """Make one in the place of another and return {id, key}."""
        ...

    async def revoke(self, key: str) -> str:
        """End a key and return its id."""
        ...


class JobSource(Protocol):
    """What the control plane asks about the jobs of one project; BbopsError where it cannot."""

    async def list(self, state: str, most: int) -> JobList:
        """Return jobs, how many are in each state, and when tasks run next."""
        ...

    async def ticks(self, task: str, count: int) -> Sequence[TaskTicks]:
        """Return the next ticks of a task, or of all of them where none is named."""
        ...

    async def show(self, job: str) -> JobStory | None:
        """Return what is known of a job; None where there is none of the name."""
        ...

    async def change(
        self, action: Literal["hold", "release", "start", "retry", "cancel", "run"], **about: Any
    ) -> ChangedJobs:
        """Hold, release, start, retry or cancel jobs, or run a task now."""
        ...


class DraftJobSource(JobSource, Protocol):
    """The jobs of a draft, which run on request."""

    async def run_for(self, seconds: float) -> int:
        """Let them run by themselves for a time, 0 for no longer; return how many were held."""
        ...


class AddonSource(Protocol):
    """What the control plane asks about the addons of one project; BbopsError where it cannot."""

    async def test(self, addon: str) -> TestedAddon:
        """Return whether an addon of what is live works with its settings."""
        ...


class DeliverySource(Protocol):
    """What the control plane asks about a project's deliveries; BbopsError where it cannot."""

    async def receivers(self, most: int, *, disabled: bool) -> Sequence[JsonReceiver]:
        """Return receivers by webhook; with `disabled` only those that are."""
        ...

    async def enable(self, webhook: str, receiver: str) -> bool:
        """Let a receiver be told again; return whether it was disabled."""
        ...

    async def list(self, direction: str, most: int) -> list[Delivery]:
        """Return deliveries, the newest first."""
        ...

    async def show(self, delivery: str) -> DeliveryStory | None:
        """Return what is kept of a delivery; None where there is none of the name."""
        ...

    async def repeat(self, delivery: str) -> str:
        """Replay or resend a delivery; return the job, empty where there is no such delivery."""
        ...


class EventSource(Protocol):
    """What the control plane asks about the events of one project; BbopsError where it cannot."""

    async def emit(self, event: str, payload: str) -> list[str]:
        """Emit an event with a payload of JSON; return the triggers that wait for it."""
        ...

    async def replay(self, trigger: str, since: float, *, counts: bool) -> int:
        """Run a trigger again for events since a time; return how many. `counts` runs nothing."""
        ...

    async def list(self, name: str, most: int) -> list[LoggedEvent]:
        """Return events of the log, the newest first; with `name` only those."""
        ...


class HookSource(Protocol):
    """What the control plane asks about webhooks, see `bbops_server.process.webhooks.outbox`."""

    def messages(self, limit: int) -> list[dict[str, Any]]:
        """Return the last messages, newest first."""
        ...

    async def test(self, wanted: str) -> list[dict[str, Any]]:
        """Send a ping to receivers; return what came back."""
        ...

    async def resend(self, wanted: str) -> dict[str, Any]:
        """Send a message once more; return what came back."""
        ...


class DraftWorkSource(Protocol):
    """What a draft does outside of requests."""

    @property
    def jobs(self) -> DraftJobSource:
        """Its jobs."""
        ...

    @property
    def addons(self) -> AddonSource:
        """Its addons, which are tested with the values of drafts."""
        ...

    @property
    def deliveries(self) -> DeliverySource:
        """Its deliveries, and the receivers that it would send to."""
        ...

    @property
    def events(self) -> EventSource:
        """Its events."""
        ...


class StatusSource(Protocol):
    """What the control plane asks."""

    def server(self) -> ServerStatus:
        """Return the status of the server's own settings."""
        ...

    def hooks(self) -> HookSource | None:
        """Return what webhooks are sent; None of a server that is just starting."""
        ...

    def projects(self) -> list[Status]:
        """Return every project's status."""
        ...

    def reconcile(self, name: str, *, again: bool = False) -> datetime | None:
        """Request an attempt now, with `again` also of a commit that is live.

        Returns:
            The time of the request, see `Status.handled_at`; None when no project has that name.
        """
        ...

    def accept(self, name: str, commit: str, base: str = "") -> bool:
        """Decide that a held commit is served; False when no project has that name.

        `base` is the live commit, where all that is between the two is accepted.

        Raises:
            ServerError: another commit is held, or none.
        """
        ...

    def history(self, name: str) -> Path | None:
        """Return where a project's requests are remembered; None when no project has the name."""
        ...

    def drafts(self, name: str) -> DraftSource | None:
        """Return a project's drafts; None when no project has the name."""
        ...

    def versions(self, name: str) -> VersionSource | None:
        """Return a project's history; None when no project has the name."""
        ...

    def frontends(self, name: str) -> FrontendSource | None:
        """Return a project's frontends; None when no project has the name."""
        ...

    async def weigh(
        self, name: str, tables: Mapping[str, Mapping[str, Any]], env: Sequence[str]
    ) -> dict[str, Any] | None:
        """Return what other tables would do to the live data; None when no project has the name.

        Raises:
            BbopsError: they have mistakes, or the database cannot be asked.
        """
        ...

    def keys(self, name: str) -> KeySource | None:
        """Return a project's API keys; None when no project has the name."""
        ...

    def deliveries(self, name: str) -> DeliverySource | None:
        """Return the deliveries of a project; None when no project has that name."""
        ...

    def events(self, name: str) -> EventSource | None:
        """Return the events of a project; None when no project has that name."""
        ...

    async def metrics(self) -> list[Sample]:
        """Return what processes have counted. Raises: BbopsError: one does not answer."""
        ...

    def addons(self, name: str) -> AddonSource | None:
        """Return a project's addons; None when no project has the name."""
        ...

    def jobs(self, name: str) -> JobSource | None:
        """Return a project's jobs; None when no project has the name."""
        ...

    async def contract(self, name: str, form: str) -> Written | None:
        """Return what the live commit publishes; None when no project has the name.

        Raises:
            BbopsError: nothing is live, or it cannot be read.
        """
        ...
