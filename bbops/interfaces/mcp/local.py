"""The backend of a checkout, without a server: its drafts are local branches.

Checked-out files are not changed, unless their branch is the changed draft and they have no changes
of their own.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

import msgspec

from bbops.base.errors import GitError
from bbops.base.json_work import TestedAddon
from bbops.interfaces.mcp.operation import RepositoryOperation
from bbops.interfaces.mcp.project_backend import (
    Activity,
    CommitProgress,
    CommitTests,
    DraftResponse,
    JobBackend,
    MergeOutcome,
    ProjectState,
    ProposalEdit,
    PullRequestDetail,
    RequestToDraft,
)
from bbops.interfaces.mcp.tool import ToolError

if TYPE_CHECKING:
    from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository
    from bbops.source.git.store import Store

T = TypeVar("T", bound=msgspec.Struct)
G = TypeVar("G", bound=msgspec.Struct)

MAIN = "main"
TEST_SECONDS = 120.0


class Checkout:
    """A `bbops.interfaces.mcp.project_backend.ProjectBackend` for a repository on this machine."""

    def __init__(self, repository: ProjectRepository) -> None:
        self._repository = repository
        self._thread = ThreadPoolExecutor(1, "bbops-mcp")  # a store is for one thread

    async def run_operation(self, operation: RepositoryOperation[T, G], params: T) -> G:
        """Run an operation in the repository."""
        return await asyncio.get_running_loop().run_in_executor(
            self._thread, self._run, operation, params
        )

    def _run(self, operation: RepositoryOperation[T, G], params: T) -> G:
        return operation.do(self._repository, params)

    async def read_state(self) -> ProjectState:
        """Return the state of a checkout, whose user may change drafts."""
        message = f"this is a checkout: it does not know what '{self._repository.live}' serves"
        return ProjectState("", message=message, may=("read", "change"))

    async def test(self, commit: str) -> CommitTests:
        """Run the tests of a commit on an empty database, with mocks and a fixed clock."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._test, commit)

    def _test(self, commit: str) -> CommitTests:
        from bbops.compiler.compile.release import build  # noqa: PLC0415 - as above
        from bbops.compiler.testing.report import as_diagnostics  # noqa: PLC0415
        from bbops.compiler.testing.running import Runner, choose  # noqa: PLC0415
        from bbops.interfaces.mcp.drafting.serialization import describe_diagnostics  # noqa: PLC0415

        tree = self._repository.tree(commit)
        built = build(tree, self._repository.cache, database=self._repository.engine, base=tree)
        chosen = choose(built.project) if built.project else []
        started_at, failed, diagnostics, count = perf_counter(), 0, [], 0
        with Runner(built) as runner:
            for case in chosen:
                if perf_counter() - started_at > TEST_SECONDS:
                    raise ToolError(f"the tests take longer than {TEST_SECONDS:g} seconds")
                outcome = asyncio.run(runner.run(case))
                count, failed = count + 1, failed + bool(outcome.wrong)
                diagnostics += as_diagnostics(outcome)
        described, _ = describe_diagnostics(diagnostics)
        seconds = round(perf_counter() - started_at, 2)
        return CommitTests(count, failed, seconds, tuple(described))

    # ---- methods that need a server
    async def send_request(self, request: RequestToDraft) -> DraftResponse:
        """Refuse: a checkout serves no requests."""
        raise _server_only(
            "try a request", f"'bbops dev' serves the files; ask it for {request.path}"
        )

    async def propose(self, draft: str, edit: ProposalEdit) -> PullRequestDetail:
        """Refuse: a checkout has no proposals."""
        del edit
        raise _server_only(
            "open a pull request",
            f"'git push origin {draft}:refs/for/{self._repository.live}/{draft}' proposes it to the"
            " server that follows the repository",
        )

    async def read_proposal(self, number: int) -> PullRequestDetail:
        """Refuse: a checkout has no proposals."""
        raise _server_only("read a pull request", f"'bbops proposals show {number}' shows it")

    async def comment(self, number: int, text: str) -> str:
        """Refuse: a checkout has no proposals."""
        del text
        raise _server_only("comment", f"'bbops proposals comment {number}' tells the server")

    async def publish(self, number: int, head: str) -> MergeOutcome:
        """Refuse: a checkout publishes nothing."""
        del head
        raise _server_only("publish", f"'bbops proposals merge {number}' asks the server")

    async def read_progress(self, commit: str) -> CommitProgress:
        """Refuse: a checkout publishes nothing."""
        del commit
        raise _server_only("show what is live", "'bbops status' shows it")

    async def activity(
        self, *, only_failed: bool, endpoint: str, since: float, before: int, limit: int,
        details: bool,
    ) -> Activity:  # fmt: skip
        """Refuse: a checkout serves no requests."""
        del only_failed, endpoint, since, before, limit, details
        raise _server_only("show recent requests", "'bbops requests' shows them")

    async def test_addon(self, addon: str, draft: str) -> TestedAddon:
        """Refuse: a checkout has no keys."""
        option = f" --draft {draft}" if draft else ""
        hint = f"'bbops addon test {addon} --server{option}' asks the server"
        raise _server_only("test addons", hint)

    async def jobs(self, draft: str) -> JobBackend:
        """Refuse: a checkout runs no jobs."""
        option = f" --draft {draft}" if draft else ""
        raise _server_only("show or change jobs", f"'bbops jobs list{option}' asks the server")

    async def restore(self, commit: str, topic: str, edit: ProposalEdit) -> PullRequestDetail:
        """Refuse: a checkout has no proposals; the commit can be pushed."""
        del topic, edit
        raise _server_only(
            "open a pull request",
            f"the commit is made: 'git branch rollback {commit}' gives it a name",
        )

    def close(self) -> None:
        """Close the repository."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._repository.store.close()


def open_checkout(store: Store, under: str = "", live: str = "") -> Checkout:
    """Return the backend of a project in a repository.

    Args:
        store: the repository.
        under: the project's folder in it.
        live: the live branch; empty for main, or for the checked-out branch without main.

    Raises:
        GitError: there is no such branch.
    """
    from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository  # noqa: PLC0415
    from bbops.source.git.place import read_head  # noqa: PLC0415 - as above

    candidates = (live,) if live else (MAIN, read_head(store.place))
    branch = next((name for name in candidates if name and store.resolve(name)), None)
    if branch is None:
        raise GitError(
            f"there is no branch '{candidates[0]}' with a commit", hint="set --live BRANCH"
        )
    return Checkout(ProjectRepository(store, branch, under, store.who()))


def _server_only(what: str, hint: str) -> ToolError:
    return ToolError(f"only a server can {what}: this is a checkout", hint=hint)
