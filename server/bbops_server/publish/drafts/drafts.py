"""The drafts of one project: made when asked for, evicted when idle, dropped with their branch.

A draft is followed as the live branch is, in a state folder of its own: its database, its history
and its artifacts lie there, and its values come from a store that no live value is in.
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
from urllib.parse import urlsplit

from bbops.base.errors import BbopsError, ServerError
from bbops.database.schema.place import write_place
from bbops.interfaces.answers import DraftStatus
from bbops_server.process.host.secrets import Secrets
from bbops_server.process.messages.drafts import DraftPlace
from bbops_server.process.messages.tables import CopyRows
from bbops_server.publish.drafts.draft_following import Draft, follow, state_of
from bbops_server.publish.drafts.draft_hosts import allow, find_allowed, require_commit
from bbops_server.publish.drafts.draft_names import choose, slug_of
from bbops_server.publish.drafts.draft_places import make_key, make_place, make_settings
from bbops_server.publish.processes.project_client import ProjectClient
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.stages.contracts import write_contract
from bbops_server.publish.stages.loop import Reconciler
from bbops_server.publish.status.events import Event, Published
from bbops_server.publish.status.signal import Signal
from bbops_server.publish.status.status import RenderedContract, Stalled
from bbops_server.settings import ProjectSettings, WebhookEvent

LOOK_SECONDS: Final = 0.5
COPY_SECONDS: Final = 600.0
WAKING_SECONDS: Final = 30.0

Inform = Callable[[WebhookEvent, Mapping[str, Any]], None]

_log = logging.getLogger(__name__)


class Drafts:
    """Follows the branches of one project, and wakes, evicts and drops their drafts."""

    def __init__(self, context: PublishContext, inform: Inform = lambda _, __: None) -> None:
        """`inform` lets others know what becomes of drafts."""
        self.context, self._inform = context, inform
        self.asked, self.changed = asyncio.Event(), Signal()
        self._drafts: dict[str, Draft] = {}
        self._branches: Mapping[str, str] = {}
        self._arranged: tuple[Mapping[str, DraftPlace], str] | None = None
        self._one_at_a_time = asyncio.Lock()
        self._working: set[asyncio.Task[None]] = set()
        self._expected: set[str] = set()
        self._taken: tuple[object, ...] | None = None

    @property
    def folder(self) -> Path:
        """What all of them keep, and the values that they share."""
        return self.context.project.state / "drafts"

    async def run(self) -> None:
        """Follow the branches until cancelled."""
        try:
            while True:
                await self._look()
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_SECONDS):
                        await self.asked.wait()
                self.asked.clear()
        finally:
            ending = [self._end(one) for one in self._drafts.values()]
            await asyncio.gather(*ending, return_exceptions=True)
            with suppress(BbopsError):
                await self.context.plane.arrange_drafts(self.context.project.name, {})

    def move(self, project: ProjectSettings) -> None:
        """Take over where the project answers from now on."""
        self.context = replace(self.context, project=project)
        for slug, one in self._drafts.items():
            self._place_anew(slug, one)
        self.asked.set()

    # ---- what is known
    def list(self) -> list[DraftStatus]:
        """Return every draft, the one committed to last first."""
        return [self._status(slug, one) for slug, one in self._drafts.items()]

    def find(self, name: str) -> DraftStatus | None:
        """Return the draft of a slug or a branch."""
        for slug, one in self._drafts.items():
            if name in {slug, one.branch}:
                return self._status(slug, one)
        return None

    def key(self, slug: str) -> bytes:
        """Return what the tokens of a draft are made with. Raises: ServerError: no key file."""
        return make_key(self.context, slug, self._branch(slug))

    def url_of(self, branch: str) -> str:
        """Return where a branch is previewed, whether or not it is there yet."""
        settings = make_settings(self.context, slug_of(branch), branch)
        return self.context.plane.settings.url_of(settings) + "/"

    def here(self, slug: str) -> tuple[str, str]:
        """Return where this machine itself reaches a draft, and the Host that it is asked as."""
        settings, mine = (
            self.context.plane.settings,
            make_settings(self.context, slug, self._branch(slug)),
        )
        return settings.data_here + mine.prefix, urlsplit(settings.url_of(mine)).netloc

    def history(self, slug: str) -> Path:
        """Return where a draft's requests are remembered."""
        return make_settings(self.context, slug, self._branch(slug)).history

    def refresh(self) -> None:
        """Look at the branches now."""
        self.asked.set()

    def prepare(self, branch: str) -> None:
        """Make the draft of a branch now, so that who asks for it first need not wait."""
        self._expected.add(branch)
        self.asked.set()

    # ---- what happens to them
    def wake(self, name: str) -> bool:
        """Make a draft of this name of the processes answer; False when it is none of ours."""
        for slug, one in self._drafts.items():
            if one.settings.name == name:
                self._wake(slug, one)
                return True
        return False

    def fail(self, name: str, reason: str) -> bool:
        """Say that a draft's process ended too often; False when it is none of ours."""
        for one in self._drafts.values():
            if one.settings.name == name and one.reconciler is not None:
                stalled = Stalled(
                    "DraftEnded", f"the process of the draft crashed too often: {reason}",
                    "push a commit that needs less, or reset it with 'bbops drafts renew'",
                )  # fmt: skip
                self._do(one.reconciler.refuse(stalled))
                return True
        return False

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._working.add(task)
        task.add_done_callback(self._working.discard)

    async def renew(self, slug: str) -> bool:
        """Let a draft start again with an empty database; False when there is none."""
        one = self._drafts.get(slug)
        if one is None:
            return False
        async with self._one_at_a_time:
            was_awake, began = one.task is not None, monotonic()
            one.is_emptied = True  # a request meanwhile must not wake it on what is removed
            try:
                await self._sleep(one)
                await asyncio.to_thread(shutil.rmtree, one.settings.state, ignore_errors=True)
            finally:
                one.is_emptied = False
        if was_awake or one.asked_at >= began:
            self._wake(slug, one)
        return True

    async def allow(self, slug: str, commit: str, hosts: Sequence[str]) -> tuple[str, ...]:
        """Let a draft reach hosts at its newest commit alone; return all that were allowed for it.

        Raises:
            ServerError: it is at another commit, or one is no name of a host.
        """
        one = self._drafts[slug]
        require_commit(one.branch, one.commit, commit)
        made = await asyncio.to_thread(allow, one.settings.state, one.commit, hosts)
        async with self._one_at_a_time:
            if one.task is not None:
                await self._sleep(one)
        return made.hosts

    async def copy_rows(
        self, slug: str, tables: Sequence[str], *, limit: int, masked: Sequence[str]
    ) -> dict[str, int]:
        """Copy rows of the live database into a draft's, without what is private; count them.

        Raises:
            BbopsError: the draft does not work, or a row does not fit in it.
        """
        one = self._drafts[slug]
        await self._ready(slug, one)
        build = self.context.plane.build
        settings = one.settings
        asked = CopyRows(
            await self._source_of(one), write_place(self.context.database),
            write_place(settings.database), list(tables), limit, list(masked),
        )  # fmt: skip
        return (await build.ask(asked, timeout_seconds=COPY_SECONDS)).rows

    def client(self, slug: str) -> ProjectClient:
        """Return the client for a draft's process, which requests wake."""
        draft = self._drafts[slug]
        return ProjectClient(
            self.context.plane, draft.settings.name, lambda: self._ready(slug, draft)
        )

    async def contract(self, slug: str, form: str) -> RenderedContract:
        """Return what a draft publishes to its callers. Raises: BbopsError: it has mistakes."""
        one = self._drafts[slug]
        project = self.context.project
        context = replace(self.context, project=one.settings, draft_of=project)
        return await write_contract(context, await self._source_of(one), form)

    async def _source_of(self, one: Draft) -> Mapping[str, Any]:
        found = await self.context.source.of_branch(one.branch).revision(self.context.plane.build)
        if found is None:
            raise ServerError(f"branch '{one.branch}' is gone")
        return found.source

    async def _ready(self, slug: str, one: Draft) -> None:
        self._wake(slug, one)
        await self.changed.wait(lambda: state_of(one.reconciler) != "waking", WAKING_SECONDS)
        stalled = one.reconciler.board.stalled if one.reconciler else None
        if stalled is not None:
            raise ServerError(f"the draft does not work: {stalled.as_sentence()}")
        if state_of(one.reconciler) != "live":
            raise ServerError("the draft is not ready in time", hint="try again in a moment")

    async def _look(self) -> None:
        build = self.context.plane.build
        try:
            found = await self.context.source.branches(build)
            if found is not None:
                self._branches, self._taken = found, None
            async with self._one_at_a_time:
                if self._expected or self._taken != self._surroundings():
                    taken = self._surroundings()
                    self._taken = taken if await self._take() else None
                await self._evict()
        except (BbopsError, Stalled):
            return  # the project's own status says what is wrong with its repository
        except Exception:  # noqa: BLE001 - the live release keeps serving
            _log.exception("the drafts of '%s' could not be looked at", self.context.source.shown)

    def _surroundings(self) -> tuple[object, ...]:
        """Return what decides about drafts beside their branches."""
        settings = self.context.plane.settings
        return (
            self.context.project, settings.drafts, settings.control_url, settings.data_url,
            self.context.plane.is_of_one,
        )  # fmt: skip

    async def _take(self) -> bool:
        """Make the drafts those of the branches there are; False: there is something left to do."""
        live = self.context.project.branch
        most = self.context.plane.settings.drafts.most
        used = {one.branch for one in self._drafts.values() if one.task is not None}
        wanted = choose([one for one in self._branches if one != live], used, most)
        slugs = {slug_of(branch): branch for branch in wanted}
        gone = [slug for slug in self._drafts if slug not in slugs]
        for slug in gone:
            await self._end(self._drafts[slug])
            self._tell("draft.gone", self._drafts.pop(slug))
        self._drafts = {slug: self._kept(slug, branch) for slug, branch in slugs.items()}
        self.changed.send()
        await self._arrange()
        is_clear = await asyncio.to_thread(self._clear)
        for slug, one in self._drafts.items():
            if one.branch in self._expected:
                self._expected.discard(one.branch)
                self._wake(slug, one)
        return is_clear

    def _kept(self, slug: str, branch: str) -> Draft:
        one = self._drafts.get(slug)
        commit = self._branches[branch]
        if one is None:
            return Draft(branch, commit, make_settings(self.context, slug, branch))
        if one.commit != commit and one.reconciler is not None:
            one.reconciler.look()
        one.commit = commit
        self._place_anew(slug, one)
        return one

    def _place_anew(self, slug: str, one: Draft) -> None:
        settings = make_settings(self.context, slug, one.branch)
        if one.settings != settings:
            one.settings = settings
            if one.reconciler is not None:
                one.reconciler.move(settings)

    async def _arrange(self) -> None:
        places = {
            one.settings.name: make_place(self.context, slug, one.branch)
            for slug, one in self._drafts.items()
        }
        told = places, self.context.plane.settings.drafts.hosts
        if told != self._arranged:
            await self.context.plane.arrange_drafts(self.context.project.name, places)
            self._arranged = told

    def _clear(self) -> bool:
        """Remove what drafts have left whose branch is gone; False: somebody writes there."""
        if not self.folder.is_dir():
            return True
        left = [one for one in self.folder.iterdir() if one.name not in self._drafts]
        for path in left:
            shutil.rmtree(path, ignore_errors=True)
        return not any(path.is_dir() for path in left)

    async def _evict(self) -> None:
        idle = self.context.plane.settings.drafts.idle_seconds
        for one in self._drafts.values():
            is_idle = one.task is not None and monotonic() - one.asked_at > idle
            if is_idle and state_of(one.reconciler) != "waking":
                await self._sleep(one)

    def _wake(self, slug: str, one: Draft) -> None:
        one.asked_at = monotonic()
        if one.task is None and not one.is_emptied:
            context = replace(
                self.context, project=one.settings, draft_of=self.context.project,
                source=self.context.source.of_branch(one.branch),
                secrets=Secrets(self.folder, environment={}),
                hosts=partial(find_allowed, self.context, one.settings.state),
            )  # fmt: skip
            one.reconciler = Reconciler(context, lambda event: self._hear(slug, event))
            one.reconciler.board.changed = self.changed
            one.task = asyncio.create_task(follow(one.reconciler, one.settings.state))

    def _hear(self, slug: str, event: Event) -> None:
        """Begin anew where rows stand in the way of a new commit: nothing in a draft is dear."""
        one = self._drafts.get(slug)
        if one is None:
            return
        if isinstance(event, Published):
            self._tell("draft.ready", one)
        elif not isinstance(event, Stalled):
            return
        elif event.reason == "MigrationRefused" and one.renewed != one.commit:
            one.renewed = one.commit
            self._do(self._renew(slug))
        else:
            self._tell("draft.failed", one, event.as_sentence())

    def _tell(self, event: WebhookEvent, one: Draft, message: str = "") -> None:
        """Let others know, once of each commit: it may sleep and wake many times."""
        if one.told == (one.commit, event):
            return
        one.told = one.commit, event
        draft = self.context.plane.settings.url_of(one.settings) + "/"
        self._inform(event, {
            "branch": one.branch, "commit": one.commit, "draft": draft, "message": message,
        })  # fmt: skip

    async def _renew(self, slug: str) -> None:
        with suppress(BbopsError):
            await self.renew(slug)

    async def _sleep(self, one: Draft) -> None:
        await self._end(one)
        await self.context.plane.rest(one.settings.name)

    async def _end(self, one: Draft) -> None:
        task, reconciler = one.task, one.reconciler
        one.task = one.reconciler = None
        self.changed.send()
        if task is not None and reconciler is not None:
            reconciler.report = lambda _: None
            task.cancel()
            await asyncio.wait({task, *filter(None, [reconciler.finishing])})

    # ---- what they are made of
    def _branch(self, slug: str) -> str:
        one = self._drafts.get(slug)
        return one.branch if one is not None else ""

    def _status(self, slug: str, one: Draft) -> DraftStatus:
        url = self.context.plane.settings.url_of(one.settings) + "/"
        board = one.reconciler.board if one.reconciler is not None else None
        stalled = board.stalled if board else None
        message = stalled.as_sentence() if stalled else ""
        found = board.diagnostics if board else []
        release = board.release if board else None
        return DraftStatus(
            one.branch, slug, one.commit, url, state_of(one.reconciler), release, message, found
        )
