"""The effect of a commit on one project, and the tests of proposed merges."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Any, Final

from bbops.base.errors import BbopsError
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.interfaces.answers import ProposalTestResult
from bbops_server.accounts.features import read_features_off
from bbops_server.process.children import SupervisedChild
from bbops_server.process.messages.builds import EndTests, RunCommitTests
from bbops_server.process.messages.forks import CaseReport
from bbops_server.process.messages.proposals import Propose, ProposedChange
from bbops_server.process.messages.repositories import ReadTrees
from bbops_server.publish.holds.reviews import find_live_gap
from bbops_server.publish.processes.draft_build import DraftBuild
from bbops_server.publish.sources.context import PublishContext, count_jobs
from bbops_server.publish.sources.record import applied_commit, read_record
from bbops_server.publish.sources.sources import BranchSource, describe

READ_SECONDS: Final = 120.0


@dataclass(frozen=True, slots=True)
class HostedProject:
    """A project whose source is the repository."""

    name: str
    at: PublishContext
    source: BranchSource


@dataclass(frozen=True, slots=True)
class ProjectImpact:
    """The effect of a merge on one project that it changes.

    Attributes:
        project: its name.
        diagnostics: diagnostics of the merged project.
        plan: a document as of `bbops plan --json`; None if there is no plan.
        text: the plan as of `bbops plan`.
        tests: test results of the merged project; None if it has errors.
        is_gated: whether failing tests block the merge.
        tested: the key of the test run; empty without one.
        obstacles: what blocks the merge besides the rules of review.
        folder: the project's folder in the repository.
    """

    project: str
    diagnostics: tuple[JsonDiagnostic, ...] = ()
    plan: Mapping[str, Any] | None = None
    text: str = ""
    tests: ProposalTestResult | None = None
    is_gated: bool = False
    tested: TestKey = ()
    obstacles: tuple[str, ...] = ()
    folder: str = ""


def of_project(name: str, why: str) -> str:
    """Return an obstacle in another project, as a message."""
    return f"project '{name}' of this repository: {why}"


class ImpactReader:
    """Reads the effect of commits on projects, with a build process."""

    def __init__(self, build: SupervisedChild | DraftBuild, proposal_tests: ProposalTests) -> None:
        self._build, self._proposal_tests = build, proposal_tests

    async def is_changed(self, served: HostedProject, base: str, commit: str) -> bool:
        """Return whether two commits differ in the folder of a project."""
        repository = str(served.source.repository)
        request = ReadTrees(repository, [base, commit], folder=served.source.path)
        trees = (await self._build.ask(request, timeout_seconds=READ_SECONDS)).trees
        return bool(trees.get(base) != trees.get(commit))

    async def plan(
        self,
        served: HostedProject,
        base: str,
        commit: str,
        *,
        digest: str = "",
        agreed_by: str = "",
    ) -> ProposedChange:
        """Return the effect of a change from `base` to `commit`, by the rules of `base`.

        Raises:
            BbopsError: the repository or the data cannot be read.
        """
        live = await asyncio.to_thread(read_record, served.at)
        off = await asyncio.to_thread(read_features_off, served.at.plane.settings)
        request = Propose(
            source=_source(served, commit), base=_source(served, base), engine=served.at.engine,
            off=tuple(off), review=live.review if live is not None else {}, digest=digest,
            agreed_by=agreed_by, work=await count_jobs(served.at), **served.at.request_fields,
        )  # fmt: skip
        return await self._build.ask(request, timeout_seconds=READ_SECONDS)

    async def find_refusals(self, served: HostedProject, base: str, commit: str) -> tuple[str, ...]:
        """Return why a commit may not follow a project's live commit without a review.

        Args:
            served: the project.
            base: the commit of its branch, used if nothing is live.
            commit: the commit to publish.

        Raises: as `plan`.
        """
        live = await asyncio.to_thread(applied_commit, served.at)
        answer = await self.plan(served, live or base, commit)
        looser = [f"it loosens the rules of review: {why}" for why in answer.loosened]
        waits = [answer.waits] if answer.waits else []
        unsigned = await _find_unsigned(served, commit)
        refusals = [*looser, *_first_error(answer), *answer.refused, *waits, *unsigned]
        if refusals or not answer.gate:
            return (*refusals, *await asyncio.to_thread(find_missing, served, answer.plan))
        place = str(served.at.project.state / "proposals" / commit)
        part = await self.read_impact(
            served, commit, answer, place, wait_seconds=TEST_SECONDS, is_urgent=True
        )
        return part.obstacles or (("its tests are still running",) if part.tests == RUNNING else ())

    async def read_impact(
        self, served: HostedProject, commit: str, answer: ProposedChange, place: str, *,
        wait_seconds: float, is_urgent: bool = False,
    ) -> ProjectImpact:  # fmt: skip
        """Return the effect of a commit on a project; its tests run unless they have results.

        Args:
            served: the project.
            commit: the merged commit.
            answer: the result of `plan`.
            place: the place of a TestRequest.
            wait_seconds: the time to wait for the tests.
            is_urgent: as in a TestRequest.
        """
        missing = await asyncio.to_thread(find_missing, served, answer.plan)
        tests, tested = await self._test(
            served, commit, answer.tree, place, wait_seconds, is_urgent=is_urgent
        )
        failed = [tests.summary] if answer.gate and tests and tests.blocks_merge else []
        unsigned = await _find_unsigned(served, commit)
        return ProjectImpact(
            served.name, tuple(answer.diagnostics), answer.plan, answer.text, tests,
            answer.gate, tested, (*missing, *failed, *unsigned), served.source.path,
        )  # fmt: skip

    async def _test(
        self, served: HostedProject, commit: str, tree: str, place: str, wait_seconds: float, *,
        is_urgent: bool,
    ) -> tuple[ProposalTestResult | None, TestKey]:  # fmt: skip
        """Return test results with their key; an empty `tree` is a project with errors."""
        if not tree:
            return None, ()
        off = await asyncio.to_thread(read_features_off, served.at.plane.settings)
        source = _source(served, commit)  # `plan` has checked it
        request = RunCommitTests(source, place, served.at.engine, tuple(off), is_checked=True)
        test_request = ProposalTestRequest(place, (served.name, tree, *off), request, is_urgent)
        results = await self._proposal_tests.find_results(test_request, wait_seconds=wait_seconds)
        return results, test_request.tree

    def find_tests(self, place: str, tested: TestKey, *, ends: bool) -> ProposalTestResult | None:
        """Return test results at a place, None if unknown; `ends` stops running tests."""
        if ends:
            self._proposal_tests.end(place)
        return self._proposal_tests.find(place, tested)


async def _find_unsigned(served: HostedProject, commit: str) -> list[str]:
    """Return the message about a signature that `review.signed` demands; empty without a gap."""
    gap = await find_live_gap(commit, str(served.source.repository), served.at)
    return [f"{gap.message}: {gap.hint}"] if gap is not None else []


def _first_error(answer: ProposedChange) -> list[str]:
    """Return the first error of a project with its place; empty without errors."""
    errors = [each for each in answer.diagnostics if each.severity == "error"]
    return [f"{error.file}:{error.line}: {error.message}" for error in errors[:1]]


def find_missing(served: HostedProject, plan: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return messages about new env variables without a value, which block a publication."""
    names = [needed["name"] for needed in plan["plan"]["needs"]["env"]] if plan else []
    if not names:
        return ()
    variable = {"required": True, "generate": False, "default": None}
    _, missing = served.at.secrets.resolve(dict.fromkeys(names, variable))
    project = served.at.project.name
    option = f" --project {project}" if project else ""
    return tuple(
        f"env {name} has no value, and the merge would not go live:"
        f" 'bbops env set {name}{option}' on the server"
        for name in missing
    )


def _source(served: HostedProject, commit: str) -> dict[str, Any]:
    source = served.source
    return dict(describe(source.repository, commit, source.branch, source.path).source)


# ---- Run the tests of proposed merges one after the other, and keep the results of each tree

TEST_SECONDS: Final = 150.0
"""More than the limit of the build process, which reports the late test."""

MAX_RESULTS: Final = 500

TestKey = tuple[str, ...]


RUNNING: Final = ProposalTestResult("running", "its tests are running")
STOPPED: Final = ProposalTestResult("unknown", "its tests were still running at that time")
"""The result of tests that were stopped with a server or a closed proposal."""


@dataclass(frozen=True, slots=True)
class ProposalTestRequest:
    """A request for test results.

    Attributes:
        place: a state folder; a newer request for the same place ends this one.
        tree: the key of the results.
        request: the request to the build process.
        is_urgent: whether it runs in parallel to others, because a user waits for a rollback.
    """

    place: str
    tree: TestKey
    request: RunCommitTests
    is_urgent: bool = False


class ProposalTests:
    """Test results of one server; one run at a time, so that publications have processor time.

    Urgent requests do not wait for others.
    """

    def __init__(self, build: SupervisedChild) -> None:
        self._build = build
        self._results: dict[TestKey, ProposalTestResult] = {}
        self._running: dict[str, tuple[TestKey, asyncio.Task[None]]] = {}
        self._run_lock = asyncio.Lock()

    async def find_results(
        self, request: ProposalTestRequest, *, wait_seconds: float = 0.0
    ) -> ProposalTestResult:
        """Return test results; tests without results are started.

        Args:
            request: the tests.
            wait_seconds: the time to wait for them; if positive, tests that could not be run are
                started again.
        """
        self.end(request.place, but=request.tree)
        results = self._results.get(request.tree)
        if results is not None and not (wait_seconds and results.state == "unknown"):
            return results
        task = self._start(request)
        if wait_seconds:
            await asyncio.wait({task}, timeout=wait_seconds)
        return self._results.get(request.tree, RUNNING)

    def find(self, place: str, tree: TestKey) -> ProposalTestResult | None:
        """Return the results for a tree without running tests; None if unknown."""
        is_running = self._running.get(place, ((), None))[0] == tree
        return self._results.get(tree, RUNNING if is_running and tree else None)

    def end(self, place: str, *, but: TestKey = ()) -> None:
        """End the run at a place, unless it is for this tree."""
        tree, task = self._running.get(place, (but, None))
        if task is not None and tree != but:
            del self._running[place]
            task.cancel()

    async def stop(self) -> None:
        """End all runs."""
        tasks = [task for _, task in self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self, request: ProposalTestRequest) -> asyncio.Task[None]:
        if request.place in self._running:
            return self._running[request.place][1]
        task = asyncio.create_task(self._run(request))
        self._running[request.place] = request.tree, task
        task.add_done_callback(lambda done: self._forget(request.place, done))
        return task

    async def _run(self, request: ProposalTestRequest) -> None:
        async with nullcontext() if request.is_urgent else self._run_lock:
            try:
                answer = await self._build.ask(request.request, timeout_seconds=TEST_SECONDS)
                results = _read(answer)
            except asyncio.CancelledError:
                with suppress(BbopsError):
                    await self._build.ask(EndTests(request.request.state), timeout_seconds=1)
                raise
            except BbopsError as error:
                results = ProposalTestResult(
                    "unknown", f"its tests could not be run: {error.message}"
                )
        self._results.pop(request.tree, None)
        self._results[request.tree] = results
        if len(self._results) > MAX_RESULTS:
            del self._results[next(iter(self._results))]

    def _forget(self, place: str, done: asyncio.Task[None]) -> None:
        if self._running.get(place, ((), None))[1] is done:
            del self._running[place]


def _read(answer: CaseReport) -> ProposalTestResult:
    cases, failed, seconds = answer.cases, answer.failed, answer.seconds
    diagnostics = answer.diagnostics
    passed = cases - failed
    if diagnostics:
        summary = f"its tests fail: {_describe(diagnostics)}"
        return ProposalTestResult("failed", summary, passed, failed, seconds, diagnostics)
    counted = f"{cases} case{'s' if cases != 1 else ''}" if cases else ""
    summary = f"its tests pass: {counted} in {seconds:.1f} s" if cases else "it has no tests"
    return ProposalTestResult("passed", summary, passed, 0, seconds)


def _describe(diagnostics: Sequence[JsonDiagnostic]) -> str:
    first = diagnostics[0]
    more = f" (and {len(diagnostics) - 1} more)" if len(diagnostics) > 1 else ""
    return f"{first.file}:{first.line}: {first.message}{more}"
