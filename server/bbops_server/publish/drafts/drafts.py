"""The drafts of a project: started on demand, put to sleep when idle, removed with their branch.

A draft is followed like the live branch, in its own state folder with its own database, history
and artifacts. Its env values come from a store without live values.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, Final
from urllib.parse import quote, urlsplit

from bbops.base.errors import BbopsError, ServerError
from bbops.database.schema.place import write_place
from bbops.interfaces.answers import DraftStatus
from bbops_server.process.host.secrets import Secrets
from bbops_server.process.messages.builds import WrittenContract, WrittenOutline
from bbops_server.process.messages.drafts import DraftPlace
from bbops_server.process.messages.tables import CopyRows
from bbops_server.publish.drafts.draft_hosts import allow, find_allowed, require_commit
from bbops_server.publish.drafts.draft_loop import FollowedDraft, follow, state_of
from bbops_server.publish.drafts.draft_names import (
    choose,
    make_key,
    make_place,
    make_settings,
    slug_of,
)
from bbops_server.publish.processes.project_client import ProjectClient
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.pinned import PinnedSource
from bbops_server.publish.sources.sources import RevisionSource
from bbops_server.publish.stages.contracts import read_file, write_contract, write_outline
from bbops_server.publish.stages.loop import Reconciler
from bbops_server.publish.status.events import ReleasePublished, ServerEvent
from bbops_server.publish.status.status import Signal, Stalled
from bbops_server.settings import ProjectSettings, WebhookEvent

POLL_SECONDS: Final = 0.5
COPY_SECONDS: Final = 600.0
WAKING_SECONDS: Final = 30.0

Notify = Callable[[WebhookEvent, Mapping[str, Any]], None]

_log = logging.getLogger(__name__)


class ProjectDrafts:
    """Follows the branches of a project, and wakes, suspends and removes their drafts."""

    def __init__(
        self, context: PublishContext, find_name: Callable[[], str], notify: Notify
    ) -> None:
        """`find_name` returns the project's name, `notify` sends webhooks about drafts."""
        self.context, self._find_name, self._notify_receivers = context, find_name, notify
        self.poll_requested, self.changed = asyncio.Event(), Signal()
        self._drafts: dict[str, FollowedDraft] = {}
        self._branches: Mapping[str, str] = {}
        self._forks: Mapping[str, PinnedSource] = {}
        self._arranged: tuple[Mapping[str, DraftPlace], str] | None = None
        self._lock = asyncio.Lock()
        self._working: set[asyncio.Task[None]] = set()
        self._to_prepare: set[str] = set()
        self._updated_for: tuple[object, ...] | None = None

    @property
    def folder(self) -> Path:
        """The folder of all drafts, with the env values that they share."""
        return self.context.project.state / "drafts"

    async def run(self) -> None:
        """Follow the branches until cancelled."""
        try:
            while True:
                await self._poll()
                with suppress(TimeoutError):
                    async with asyncio.timeout(POLL_SECONDS):
                        await self.poll_requested.wait()
                self.poll_requested.clear()
        finally:
            ending = [self._end(draft) for draft in self._drafts.values()]
            await asyncio.gather(*ending, return_exceptions=True)
            with suppress(BbopsError):
                await self.context.plane.arrange_drafts(self.context.project.name, {})

    def move(self, project: ProjectSettings) -> None:
        """Change the project's addresses."""
        self.context = replace(self.context, project=project)
        for slug, draft in self._drafts.items():
            self._update_settings(slug, draft)
        self.poll_requested.set()

    # ---- lookup
    def list(self) -> list[DraftStatus]:
        """Return every draft, newest commit first."""
        return [self._status(slug, draft) for slug, draft in self._drafts.items()]

    def find(self, name: str) -> DraftStatus | None:
        """Return a draft by slug or branch."""
        for slug, draft in self._drafts.items():
            if name in {slug, draft.branch}:
                return self._status(slug, draft)
        return None

    def key(self, slug: str) -> bytes:
        """Return the signing key of a draft's tokens. Raises: ServerError: no key file."""
        return make_key(self.context, slug, self._branch(slug))

    def url_of(self, branch: str) -> str:
        """Return the preview URL of a branch, which need not exist yet."""
        settings = make_settings(self.context, slug_of(branch), branch)
        return self.context.plane.settings.url_of(settings) + "/"

    def here(self, slug: str) -> tuple[str, str]:
        """Return the local address of a draft, and its Host header."""
        settings = self.context.plane.settings
        draft = make_settings(self.context, slug, self._branch(slug))
        return settings.data_here + draft.prefix, urlsplit(settings.url_of(draft)).netloc

    def history(self, slug: str) -> Path:
        """Return the file of a draft's request history."""
        return make_settings(self.context, slug, self._branch(slug)).history

    def refresh(self) -> None:
        """Poll the branches now."""
        self.poll_requested.set()

    def prepare(self, branch: str) -> None:
        """Create the draft of a branch before its first request."""
        self._to_prepare.add(branch)
        self.poll_requested.set()

    def build(self, branch: str) -> bool:
        """Poll the repository now, and build the draft of a branch; False if it is not known."""
        self.context.source.refresh()
        is_known = any(draft.branch == branch for draft in self._drafts.values())
        if is_known:
            self._to_prepare.add(branch)
        self.poll_requested.set()
        return is_known

    # ---- changes
    def show_forks(self, forks: Mapping[str, PinnedSource]) -> None:
        """Show heads of forks as drafts, each under a name that no branch has, and no others.

        Such a draft has no env values but generated ones, and reaches no host.
        """
        known = {name: source.commit for name, source in self._forks.items()}
        if known != {name: source.commit for name, source in forks.items()}:
            for name, source in self._forks.items():
                if name in forks:
                    source.commit = forks[name].commit
            self._forks = {name: self._forks.get(name, source) for name, source in forks.items()}
            self._updated_for = None
            self.poll_requested.set()

    def wake(self, name: str) -> bool:
        """Wake a draft by its name in processes; False if it is of another project."""
        for slug, draft in self._drafts.items():
            if draft.settings.name == name:
                self._wake(slug, draft)
                return True
        return False

    def fail(self, name: str, reason: str) -> bool:
        """Stall a draft whose process ended too often; False if it is of another project."""
        for draft in self._drafts.values():
            if draft.settings.name == name and draft.reconciler is not None:
                stalled = Stalled(
                    "DraftEnded", f"the process of the draft crashed too often: {reason}",
                    "push a commit that needs less, or reset it with 'bbops drafts renew'",
                )  # fmt: skip
                self._start_task(draft.reconciler.refuse(stalled))
                return True
        return False

    def _start_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._working.add(task)
        task.add_done_callback(self._working.discard)

    async def renew(self, slug: str) -> bool:
        """Reset a draft to an empty database; False if it does not exist."""
        draft = self._drafts.get(slug)
        if draft is None:
            return False
        async with self._lock:
            was_awake, began = draft.task is not None, monotonic()
            draft.is_emptied = True  # a request must not wake it while its files are removed
            try:
                await self._put_to_sleep(draft)
                await asyncio.to_thread(shutil.rmtree, draft.settings.state, ignore_errors=True)
            finally:
                draft.is_emptied = False
        if was_awake or draft.used_at >= began:
            self._wake(slug, draft)
        return True

    async def allow(
        self, slug: str, commit: str, hosts: Sequence[str], who: str, project: str
    ) -> tuple[str, ...]:  # fmt: skip
        """Allow hosts for a draft's newest commit only; return all that are allowed for it.

        Raises:
            ServerError: the draft has another commit, or a host name is not valid.
        """
        draft = self._drafts[slug]
        if draft.branch in self._forks:
            raise ServerError(f"'{draft.branch}' is the code of a fork, which reaches no host")
        require_commit(draft.branch, draft.commit, commit)
        allowed = await asyncio.to_thread(
            allow, draft.settings.state, draft.commit, hosts, who, project
        )
        async with self._lock:
            if draft.task is not None:
                await self._put_to_sleep(draft)
        return allowed.hosts

    async def copy_rows(
        self, slug: str, tables: Sequence[str], *, limit: int, masked: Sequence[str]
    ) -> dict[str, int]:
        """Copy live rows into a draft without private columns; return the counts by table.

        Raises:
            BbopsError: the draft does not work, or a row does not fit its tables.
        """
        draft = self._drafts[slug]
        if draft.branch in self._forks:
            raise ServerError(f"'{draft.branch}' is the code of a fork, which gets no live rows")
        await self._ready(slug, draft)
        build = self.context.plane.build
        request = CopyRows(
            await self._find_source(draft), write_place(self.context.database),
            write_place(draft.settings.database), list(tables), limit, list(masked),
        )  # fmt: skip
        return (await build.ask(request, timeout_seconds=COPY_SECONDS)).rows

    def client(self, slug: str) -> ProjectClient:
        """Return the client for a draft's process, which requests wake."""
        draft = self._drafts[slug]
        return ProjectClient(
            self.context.plane, draft.settings.name, lambda: self._ready(slug, draft)
        )

    async def contract(self, slug: str, form: str) -> WrittenContract:
        """Return the contract of a draft. Raises: BbopsError: the draft has errors."""
        draft = self._drafts[slug]
        return await write_contract(
            self._build_context(draft), await self._find_source(draft), form
        )

    async def outline(self, slug: str) -> WrittenOutline:
        """Return the outline of a draft's newest commit, or its errors.

        Raises:
            BbopsError: the commit cannot be read.
        """
        draft = self._drafts[slug]
        return await write_outline(self._build_context(draft), await self._find_source(draft))

    async def read_file(self, slug: str, path: str) -> str | None:
        """Return the text of a file of a draft; None if it does not exist. Raises as `outline`."""
        draft = self._drafts[slug]
        return await read_file(self._build_context(draft), await self._find_source(draft), path)

    def find_values(self, variables: Sequence[str]) -> frozenset[str]:
        """Return the variables that have a value for drafts, never the values."""
        return Secrets(self.folder, environment={}).find_set(variables)

    def _build_context(self, draft: FollowedDraft) -> PublishContext:
        return replace(self.context, project=draft.settings, draft_of=self.context.project)

    async def _find_source(self, draft: FollowedDraft) -> Mapping[str, Any]:
        source = self._source_of(draft.branch)
        newest = await source.revision(self.context.plane.build)
        if newest is None:
            raise ServerError(f"branch '{draft.branch}' is gone")
        return newest.source

    def _source_of(self, branch: str) -> RevisionSource:
        return self._forks.get(branch) or self.context.source.of_branch(branch)

    @property
    def _commits(self) -> Mapping[str, str]:
        """The newest commit of each branch, and the heads of forks."""
        return {**self._branches, **{name: fork.commit for name, fork in self._forks.items()}}

    async def _ready(self, slug: str, draft: FollowedDraft) -> None:
        self._wake(slug, draft)
        await self.changed.wait(lambda: state_of(draft.reconciler) != "waking", WAKING_SECONDS)
        stalled = draft.reconciler.board.stalled if draft.reconciler else None
        if stalled is not None:
            raise ServerError(f"the draft does not work: {stalled.as_sentence()}")
        if state_of(draft.reconciler) != "awake":
            raise ServerError("the draft is not ready in time", hint="try again in a moment")

    async def _poll(self) -> None:
        build = self.context.plane.build
        try:
            branches = await self.context.source.branches(build)
            if branches is not None:
                self._branches, self._updated_for = branches, None
            async with self._lock:
                if self._to_prepare or self._updated_for != self._find_settings():
                    settings = self._find_settings()
                    self._updated_for = settings if await self._update() else None
                await self._evict()
        except (BbopsError, Stalled):
            return  # the project's own status has the error of its repository
        except Exception:  # noqa: BLE001 - the live release keeps serving
            _log.exception("cannot update the drafts of '%s'", self.context.source.shown)

    def _find_settings(self) -> tuple[object, ...]:
        """Return the settings on which drafts depend, besides their branches."""
        settings = self.context.plane.settings
        return (
            self.context.project, self._find_name(), settings.drafts, settings.control_url,
            settings.data_url, self.context.plane.has_one_project,
        )  # fmt: skip

    async def _update(self) -> bool:
        """Create and remove drafts to match the branches; False if files are left to remove."""
        live = self.context.project.branch
        limit = self.context.plane.settings.drafts.most
        used = {draft.branch for draft in self._drafts.values() if draft.task is not None}
        chosen = choose([branch for branch in self._commits if branch != live], used, limit)
        slugs = {slug_of(branch): branch for branch in chosen}
        removed = [slug for slug in self._drafts if slug not in slugs]
        for slug in removed:
            await self._end(self._drafts[slug])
            self._notify("draft.gone", self._drafts.pop(slug))
        self._drafts = {slug: self._update_draft(slug, branch) for slug, branch in slugs.items()}
        self.changed.send()
        await self._arrange()
        is_clean = await asyncio.to_thread(self._remove_leftovers)
        for slug, draft in self._drafts.items():
            if draft.branch in self._to_prepare:
                self._to_prepare.discard(draft.branch)
                self._wake(slug, draft)
        return is_clean

    def _update_draft(self, slug: str, branch: str) -> FollowedDraft:
        draft = self._drafts.get(slug)
        commit = self._commits[branch]
        if draft is None:
            return FollowedDraft(branch, commit, make_settings(self.context, slug, branch))
        if draft.commit != commit and draft.reconciler is not None:
            draft.reconciler.poll_now()
        draft.commit = commit
        self._update_settings(slug, draft)
        return draft

    def _update_settings(self, slug: str, draft: FollowedDraft) -> None:
        settings = make_settings(self.context, slug, draft.branch)
        if draft.settings != settings:
            draft.settings = settings
            if draft.reconciler is not None:
                draft.reconciler.move(settings)

    async def _arrange(self) -> None:
        name, control = self._find_name(), self.context.plane.settings.control_url
        page_url = f"{control}/projects/{quote(name)}/drafts"
        places = {
            draft.settings.name: make_place(self.context, slug, draft.branch, f"{page_url}#{slug}")
            for slug, draft in self._drafts.items()
        }
        arrangement = places, self.context.plane.settings.drafts.hosts
        if arrangement != self._arranged:
            await self.context.plane.arrange_drafts(self.context.project.name, places)
            self._arranged = arrangement

    def _remove_leftovers(self) -> bool:
        """Remove the files of drafts without a branch; False if a process still writes there."""
        if not self.folder.is_dir():
            return True
        left = [path for path in self.folder.iterdir() if path.name not in self._drafts]
        for path in left:
            shutil.rmtree(path, ignore_errors=True)
        return not any(path.is_dir() for path in left)

    async def _evict(self) -> None:
        idle = self.context.plane.settings.drafts.idle_seconds
        for draft in self._drafts.values():
            is_idle = draft.task is not None and monotonic() - draft.used_at > idle
            if is_idle and state_of(draft.reconciler) != "waking":
                await self._put_to_sleep(draft)

    def _wake(self, slug: str, draft: FollowedDraft) -> None:
        draft.used_at = monotonic()
        if draft.task is None and not draft.is_emptied:
            is_fork, state = draft.branch in self._forks, draft.settings.state
            find_hosts = partial(find_allowed, self.context, state)
            context = replace(
                self.context, project=draft.settings, draft_of=self.context.project,
                source=self._source_of(draft.branch),
                secrets=Secrets(state if is_fork else self.folder, environment={}),
                hosts=_no_hosts if is_fork else find_hosts,
            )  # fmt: skip
            draft.reconciler = Reconciler(context, lambda event: self._handle_event(slug, event))
            draft.reconciler.board.changed = self.changed
            draft.task = asyncio.create_task(follow(draft.reconciler, draft.settings.state))

    def _handle_event(self, slug: str, event: ServerEvent) -> None:
        """Notify receivers; reset a draft whose rows block a new commit."""
        draft = self._drafts.get(slug)
        if draft is None:
            return
        if isinstance(event, ReleasePublished):
            self._notify("draft.ready", draft)
        elif not isinstance(event, Stalled):
            return
        elif event.reason == "MigrationRefused" and draft.renewed != draft.commit:
            draft.renewed = draft.commit
            self._start_task(self._renew(slug))
        else:
            self._notify("draft.failed", draft, event.as_sentence())

    def _notify(self, event: WebhookEvent, draft: FollowedDraft, message: str = "") -> None:
        """Notify receivers once for each commit: a draft may sleep and wake many times."""
        if draft.notified == (draft.commit, event):
            return
        draft.notified = draft.commit, event
        url = self.context.plane.settings.url_of(draft.settings) + "/"
        self._notify_receivers(event, {
            "branch": draft.branch, "commit": draft.commit, "draft": url, "message": message,
        })  # fmt: skip

    async def _renew(self, slug: str) -> None:
        with suppress(BbopsError):
            await self.renew(slug)

    async def _put_to_sleep(self, draft: FollowedDraft) -> None:
        await self._end(draft)
        await self.context.plane.put_to_sleep(draft.settings.name)

    async def _end(self, draft: FollowedDraft) -> None:
        task, reconciler = draft.task, draft.reconciler
        draft.task = draft.reconciler = None
        self.changed.send()
        if task is not None and reconciler is not None:
            reconciler.report = lambda _: None
            task.cancel()
            await asyncio.wait({task, *filter(None, [reconciler.finishing])})

    # ---- status
    def _branch(self, slug: str) -> str:
        draft = self._drafts.get(slug)
        return draft.branch if draft is not None else ""

    def _status(self, slug: str, draft: FollowedDraft) -> DraftStatus:
        url = self.context.plane.settings.url_of(draft.settings) + "/"
        board = draft.reconciler.board if draft.reconciler is not None else None
        stalled = board.stalled if board else None
        message = stalled.as_sentence() if stalled else ""
        diagnostics = board.diagnostics if board else []
        release = board.release if board else None
        attempted = (board.attempted or "").rpartition(":")[2] if board else ""
        return DraftStatus(
            draft.branch, slug, draft.commit, url, state_of(draft.reconciler), release, message,
            diagnostics, attempted or None,
        )  # fmt: skip


def _no_hosts(_: str) -> tuple[str, ...]:
    """Return the hosts that the code of a fork may reach."""
    return ()
