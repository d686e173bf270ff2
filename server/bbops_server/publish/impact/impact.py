"""The effect of a commit on one project of its repository: plan, tests, missing env values."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.interfaces.answers import ProposalTestResult
from bbops_server.accounts.features import read_features_off
from bbops_server.process.children import SupervisedChild
from bbops_server.process.messages.builds import RunCommitTests
from bbops_server.process.messages.proposals import Propose, ProposedChange
from bbops_server.process.messages.repositories import ReadTrees
from bbops_server.publish.holds.reviews import find_live_gap
from bbops_server.publish.impact.proposal_tests import (
    RUNNING,
    TEST_SECONDS,
    ProposalTestRequest,
    ProposalTests,
    TestKey,
)
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
