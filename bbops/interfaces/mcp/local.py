"""A project's backend without a server: a checkout, whose drafts are its local branches.

The files that are checked out stay as they are, unless their branch is the draft that moves and
nothing in them has changed.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar, cast

import msgspec

from bbops.base.errors import GitError
from bbops.base.json_addons import TestedAddon
from bbops.interfaces.mcp.project_backend import (
    Activity,
    CommitProgress,
    DraftRequest,
    DraftResponse,
    JobBackend,
    MergeOutcome,
    ProjectState,
    ProposalEdit,
    PullRequestDetail,
    Tested,
)
from bbops.interfaces.mcp.tool import Refused
from bbops.interfaces.mcp.work import Work

if TYPE_CHECKING:
    from bbops.interfaces.mcp.drafting.bench import Bench
    from bbops.source.git.store import Store

T = TypeVar("T", bound=msgspec.Struct)
G = TypeVar("G", bound=msgspec.Struct)

MAIN = "main"
TEST_SECONDS = 120.0


class Checkout:
    """A `bbops.interfaces.mcp.project_backend.ProjectBackend` of a repository on this machine."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._thread = ThreadPoolExecutor(1, "bbops-mcp")  # a store is for one thread

    async def work(self, work: Work[T, G], taken: T) -> G:
        """Do a piece of work in the repository."""
        return await asyncio.get_running_loop().run_in_executor(
            self._thread, self._work, work, taken
        )

    def _work(self, work: Work[T, G], taken: T) -> G:
        from bbops.interfaces.mcp.drafting.performing import find_doing  # noqa: PLC0415 - every step, git

        return cast("G", find_doing(work.name)(self._bench, taken))

    async def stand(self) -> ProjectState:
        """Return what a checkout knows: who works in it may change it."""
        message = f"this is a checkout: it does not know what '{self._bench.live}' serves"
        return ProjectState("", message=message, may=("read", "change"))

    async def test(self, commit: str) -> Tested:
        """Run the tests of a commit on an empty database, against a world that stands still."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._test, commit)

    def _test(self, commit: str) -> Tested:
        from bbops.build.compile.release import build  # noqa: PLC0415 - as above
        from bbops.build.testing.report import as_diagnostics  # noqa: PLC0415
        from bbops.build.testing.running import Runner, choose  # noqa: PLC0415
        from bbops.interfaces.mcp.drafting.serialization import tell  # noqa: PLC0415

        tree = self._bench.tree(commit)
        built = build(tree, self._bench.cache, database=self._bench.engine, base=tree)
        chosen = choose(built.project) if built.project else []
        began, failed, found, ran = perf_counter(), 0, [], 0
        with Runner(built) as runner:
            for one in chosen:
                if perf_counter() - began > TEST_SECONDS:
                    raise Refused(f"the tests take longer than {TEST_SECONDS:g} seconds")
                outcome = asyncio.run(runner.run(one))
                ran, failed = ran + 1, failed + bool(outcome.wrong)
                found += as_diagnostics(outcome)
        told, _ = tell(found)
        return Tested(ran, failed, round(perf_counter() - began, 2), tuple(told))

    # ---- what a server alone can do
    async def ask(self, asked: DraftRequest) -> DraftResponse:
        """Refuse: nothing runs here."""
        raise _elsewhere("try a request", f"'bbops dev' serves the files; ask it for {asked.path}")

    async def propose(self, draft: str, said: ProposalEdit) -> PullRequestDetail:
        """Refuse: a checkout keeps no proposals."""
        del said
        raise _elsewhere(
            "open a pull request",
            f"'git push origin {draft}:refs/for/{self._bench.live}/{draft}' proposes it to the"
            " server that follows the repository",
        )

    async def judge(self, number: int) -> PullRequestDetail:
        """Refuse: a checkout keeps no proposals."""
        raise _elsewhere("read a pull request", f"'bbops proposals show {number}' shows it")

    async def comment(self, number: int, text: str) -> str:
        """Refuse: a checkout keeps no proposals."""
        del text
        raise _elsewhere("comment", f"'bbops proposals comment {number}' tells the server")

    async def publish(self, number: int, head: str) -> MergeOutcome:
        """Refuse: a checkout publishes nothing."""
        del head
        raise _elsewhere("publish", f"'bbops proposals merge {number}' asks the server")

    async def attempt(self, commit: str) -> CommitProgress:
        """Refuse: a checkout publishes nothing."""
        del commit
        raise _elsewhere("show what is live", "'bbops status' shows it")

    async def activity(
        self, *, only_failed: bool, endpoint: str, since: float, before: int, limit: int,
        details: bool,
    ) -> Activity:  # fmt: skip
        """Refuse: a checkout answers no requests."""
        del only_failed, endpoint, since, before, limit, details
        raise _elsewhere("show recent requests", "'bbops requests' shows them")

    async def test_addon(self, addon: str, draft: str) -> TestedAddon:
        """Refuse: keys are kept by a server."""
        of = f" --draft {draft}" if draft else ""
        cure = f"'bbops addon test {addon} --server{of}' asks the server"
        raise _elsewhere("test addons", cure)

    async def jobs(self, draft: str) -> JobBackend:
        """Refuse: nothing runs here."""
        of = f" --draft {draft}" if draft else ""
        raise _elsewhere("show or change jobs", f"'bbops jobs list{of}' asks the server")

    async def restore(self, commit: str, topic: str, said: ProposalEdit) -> PullRequestDetail:
        """Refuse: a checkout keeps no proposals; the commit can be pushed."""
        del topic, said
        raise _elsewhere(
            "open a pull request",
            f"the commit is made: 'git branch rollback {commit}' gives it a name",
        )

    def close(self) -> None:
        """Let go of the repository."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._bench.store.close()


def open_checkout(store: Store, under: str = "", live: str = "") -> Checkout:
    """Return the backend of a project in a repository.

    Args:
        store: the repository.
        under: the project's folder in it.
        live: the branch that is live; empty for main, or what is checked out where there is none.

    Raises:
        GitError: there is no such branch.
    """
    from bbops.interfaces.mcp.drafting.bench import Bench  # noqa: PLC0415
    from bbops.source.git.place import read_head  # noqa: PLC0415 - as above

    known = (live,) if live else (MAIN, read_head(store.place))
    branch = next((one for one in known if one and store.resolve(one)), None)
    if branch is None:
        raise GitError(
            f"there is no branch '{known[0]}' with a commit", hint="name it with --live BRANCH"
        )
    return Checkout(Bench(store, branch, under, store.who()))


def _elsewhere(what: str, hint: str) -> Refused:
    return Refused(f"only a server can {what}: this is a checkout", hint=hint)
