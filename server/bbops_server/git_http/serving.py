"""Serve the repositories of the projects to git: the way from a request to its answer."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bbops.source.git.environment import scrubbed_environment
from bbops_server.accounts.proposals import Proposals
from bbops_server.accounts.rules import Caller
from bbops_server.git_http.backend import (
    FETCH_LIMITS,
    MAX_BODY_BYTES,
    MAX_WANTED_BYTES,
    PUSH_LIMITS,
    TOO_LARGE,
    Exchange,
    GitRequest,
    Line,
    Refusal,
    Unpacking,
)
from bbops_server.git_http.hooks import Hooks
from bbops_server.git_http.push import IsSame, Push
from bbops_server.git_http.repository import Repository
from bbops_server.process.children import SupervisedChild
from bbops_server.publish.impact.impact import HostedProject, ImpactReader, ProposalTests
from bbops_server.publish.projects.projects import ServerProjects
from bbops_server.publish.proposals.merge_status import MergeChecker
from bbops_server.publish.proposals.workflow import ProposalWorkflow

if TYPE_CHECKING:
    from bbops_server.publish.proposals.local import ProposalEvent


SETTINGS: Final = (
    ("http.receivepack", "true"), ("http.uploadpack", "true"), ("http.getanyfile", "false"),
    ("transfer.fsckObjects", "true"), ("uploadpack.allowFilter", "true"),
    # a working copy has more refs, such as what its owner has stashed
    ("transfer.hideRefs", "refs"), ("transfer.hideRefs", "!refs/heads"),
    ("transfer.hideRefs", "!refs/tags"), ("transfer.hideRefs", "!refs/pull"),
    ("transfer.hideRefs", "!refs/for"), ("receive.procReceiveRefs", "refs/for"),
    ("receive.denyCurrentBranch", "updateInstead"), ("receive.maxInputSize", str(MAX_BODY_BYTES)),
    ("receive.autogc", "false"), ("receive.advertisePushOptions", "true"),
    ("pack.threads", "2"), ("pack.windowMemory", "64m"), ("core.bigFileThreshold", "32m"),
    ("core.packedGitWindowSize", "32m"), ("core.packedGitLimit", "256m"),
)  # fmt: skip
"""Of git for these requests alone."""


class GitHttp:
    """Answers git clients, whose accounts and permissions have been checked."""

    def __init__(
        self, build: SupervisedChild, projects: ServerProjects, folder: Path, records: Proposals
    ) -> None:
        """`folder` is for the hooks."""
        self.projects, self.build, self._records = projects, build, records
        self._hooks, self._room = Hooks(folder), Concurrency()
        self.proposal_tests = ProposalTests(build)
        self._running: set[asyncio.Task[None]] = set()

    async def answer(
        self, asked: GitRequest, repository: Repository, caller: Caller, line: Line, is_same: IsSame
    ) -> Push | None:
        """Answer a request; return the push, if it is one.

        Args:
            is_same: whether the caller has the same rights once the whole body has arrived.

        Raises:
            Refusal: the request is refused before a response.
        """
        if int(asked.variables.get("CONTENT_LENGTH", 0)) > MAX_BODY_BYTES:
            raise TOO_LARGE
        person = caller.person or caller.how
        async with self._room.take(asked, person), AsyncExitStack() as open_until:
            push, more, limits = None, {}, FETCH_LIMITS
            if asked.is_push and not asked.is_greeting:
                await self._hooks.open()
                limits = PUSH_LIMITS
                control = self.proposing(repository)
                push = Push(self.build, repository, caller, control, is_same)
                more = open_until.enter_context(self._hooks.answering(push.answer))
            environment = self._environment(repository, caller) | asked.variables | more
            most = MAX_BODY_BYTES if push else MAX_WANTED_BYTES
            unpacking = Unpacking(most) if asked.is_packed else None
            await self._run(Exchange(line, environment, limits, unpacking))
            return push

    def proposing(self, repository: Repository) -> ProposalWorkflow:
        """Return the workflow of a project's proposals."""
        from bbops_server.publish.proposals.local import LocalForge  # noqa: PLC0415 - GitPython: 75 ms

        every = [HostedProject(follower.name, follower.reconciler.context, follower.source)
                 for follower in repository.followers]  # fmt: skip
        mine = next(project for project in every if project.name == repository.name)
        others = [
            project for project in every
            if project is not mine and project.source.branch == mine.source.branch
        ]  # fmt: skip
        loop = asyncio.get_running_loop()

        def tell(happened: ProposalEvent) -> None:
            loop.call_soon_threadsafe(inform, happened)

        def inform(happened: ProposalEvent) -> None:
            payload = _describe(happened) | {"page": control.page(happened.proposal.number)}
            self.projects.notify_receivers(repository.main, happened.event, payload)

        forge = LocalForge(
            repository.place, mine.name, self._records, tell, sorted(repository.reviewed)
        )
        bench = MergeChecker(ImpactReader(self.build, self.proposal_tests), forge, mine, others)
        drafts = self.projects.drafts(mine.name)
        control = ProposalWorkflow(
            forge, bench, lambda path: mine.at.plane.settings.control_url + path, drafts
        )
        return control

    async def stop(self) -> None:
        """End the running requests; a push is accepted whole or not at all."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        await self.proposal_tests.stop()
        await self._hooks.close()

    async def _run(self, exchange: Exchange) -> None:
        """Run an exchange in its own task, which `stop` can end."""
        task = asyncio.create_task(exchange.run())
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            await task
        except asyncio.CancelledError:
            if not task.cancelled():  # the caller has ended it, not `stop`
                raise

    def _environment(self, repository: Repository, caller: Caller) -> dict[str, str]:
        who = caller.email or "bbops"
        return scrubbed_environment([*SETTINGS, self._hooks.setting]) | {
            "GIT_PROJECT_ROOT": str(repository.folder), "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_COMMITTER_NAME": caller.name or who, "GIT_COMMITTER_EMAIL": who,
            "REMOTE_USER": who,
        }  # fmt: skip


def _describe(happened: ProposalEvent) -> dict[str, Any]:
    """Return the payload of a webhook about a proposal."""
    known = happened.proposal
    return {
        "proposal": known.number, "title": known.title, "author": known.author,
        "target": known.target, "topic": known.topic, "state": known.state, "head": known.head,
        "merged": known.merged, "ready": known.ready, "reviewers": list(known.reviewers),
        "by": happened.who, "text": happened.text,
    }  # fmt: skip


# ---- The limits of concurrent exchanges: in total, and of one person; others wait

MOST_PUSHES: Final = 4
MOST_FETCHES: Final = 16
MOST_WAITING: Final = 64
"""Exchanges that may wait for a place in total; one person may have a quarter of them."""

WAIT_SECONDS: Final = 60.0
_SHARE: Final = 2
"""One person may take half of the places."""

_WAITING_SHARE: Final = 4
_RETRY_SECONDS: Final = "5"


class Concurrency:
    """Counts the exchanges under way in this process."""

    def __init__(self) -> None:
        self._pushes = _Places(MOST_PUSHES, "pushes")
        self._fetches = _Places(MOST_FETCHES, "fetches")

    @asynccontextmanager
    async def take(self, asked: GitRequest, person: str) -> AsyncIterator[None]:
        """Hold a place while the block runs; wait for it, in turn, where there is none.

        The greeting of a push takes a place of a fetch: nothing is pushed yet.

        Raises:
            Refusal: too many wait already, 503, or too many of this person, 429; or none was free
                in time, 503.
        """
        places = self._pushes if asked.is_push and not asked.is_greeting else self._fetches
        await places.enter(person)
        try:
            yield
        finally:
            places.leave(person)


@dataclass(slots=True)
class _Places:
    most: int
    what: str
    taken: Counter[str] = field(default_factory=Counter)
    waiting: list[tuple[str, asyncio.Future[None]]] = field(default_factory=list)

    async def enter(self, person: str) -> None:
        if self._has_place(person) and not any(self._has_place(one) for one, _ in self.waiting):
            self.taken[person] += 1
            return
        self._require_few(person)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.append((person, turn))
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await turn  # who wakes it has taken the place for it
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self.leave(person)
            else:
                self.waiting.remove((person, turn))
            if isinstance(error, TimeoutError):
                message = f"{self.taken.total()} {self.what} are running, and none finished in time"
                raise _full(503, message) from None
            raise

    def leave(self, person: str) -> None:
        self.taken -= Counter([person])  # forgets who has none
        for waiting in tuple(self.waiting):
            one, turn = waiting
            if self._has_place(one) and not turn.done():
                self.waiting.remove(waiting)
                self.taken[one] += 1
                turn.set_result(None)

    def _has_place(self, person: str) -> bool:
        return self.taken[person] < self.most // _SHARE and self.taken.total() < self.most

    def _require_few(self, person: str) -> None:
        mine = sum(one == person for one, _ in self.waiting)
        if mine >= MOST_WAITING // _WAITING_SHARE:
            raise _full(429, f"{mine} {self.what} of yours are waiting")
        if len(self.waiting) >= MOST_WAITING:
            raise _full(503, f"{len(self.waiting)} {self.what} are waiting")


def _full(status: int, message: str) -> Refusal:
    return Refusal(status, f"{message}; try again in a moment", retry_after=_RETRY_SECONDS)
