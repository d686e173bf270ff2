"""What a commit would do to one project of its repository: plan, tests, values that it lacks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.interfaces.answers import Tests
from bbops_server.accounts.features import read_features_off
from bbops_server.process.children import SupervisedChild
from bbops_server.process.messages.builds import RunCommitTests
from bbops_server.process.messages.proposals import Propose, ProposedChange
from bbops_server.process.messages.repositories import ReadTrees
from bbops_server.publish.proposals.proposal_tests import (
    RUNNING,
    TEST_SECONDS,
    Key,
    ProposalTests,
    Trial,
)
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.record import applied_commit, read_record
from bbops_server.publish.sources.sources import BranchSource, describe
from bbops_server.publish.stages.impact import count_jobs

LOOK_SECONDS: Final = 120.0


@dataclass(frozen=True, slots=True)
class Served:
    """A project that follows the repository."""

    name: str
    at: PublishContext
    source: BranchSource


@dataclass(frozen=True, slots=True)
class Part:
    """What a merge would do to one project that it changes.

    Attributes:
        project: its name.
        diagnostics: of the project as it would be, with this and what the target holds.
        plan: a document as `bbops plan --json` prints it; None where it cannot be said.
        text: the same as `bbops plan` prints it.
        tests: what they say of the project as it would be; None where it would not work.
        is_gated: whether tests that fail are in the way.
        tested: names what the tests were run for; empty where there are none.
        obstacles: what is in the way beside the rules of review.
        folder: of the project in the repository.
    """

    project: str
    diagnostics: tuple[JsonDiagnostic, ...] = ()
    plan: Mapping[str, Any] | None = None
    text: str = ""
    tests: Tests | None = None
    is_gated: bool = False
    tested: Key = ()
    obstacles: tuple[str, ...] = ()
    folder: str = ""


def of_project(name: str, why: str) -> str:
    """Return what is in the way in another project, for people."""
    return f"project '{name}' of this repository: {why}"


class Parts:
    """Looks at projects one by one, in the build process."""

    def __init__(self, build: SupervisedChild, proposal_tests: ProposalTests) -> None:
        self._build, self._proposal_tests = build, proposal_tests

    async def is_changed(self, one: Served, base: str, commit: str) -> bool:
        """Return whether two commits differ in the folder of a project."""
        repository = str(one.source.repository)
        asked = ReadTrees(repository, [base, commit], folder=one.source.path)
        found = (await self._build.ask(asked, timeout_seconds=LOOK_SECONDS)).trees
        return bool(found.get(base) != found.get(commit))

    async def plan(
        self, one: Served, base: str, commit: str, *, digest: str = "", agreed_by: str = ""
    ) -> ProposedChange:
        """Return what going from one commit to another would do, and takes by the rules of `base`.

        Raises:
            BbopsError: the repository or the data cannot be read.
        """
        live = await asyncio.to_thread(read_record, one.at)
        off = await asyncio.to_thread(read_features_off, one.at.plane.settings)
        asked = Propose(
            source=_source(one, commit), base=_source(one, base), engine=one.at.engine,
            off=tuple(off), review=live.review if live is not None else {}, digest=digest,
            agreed_by=agreed_by, work=await count_jobs(one.at), **one.at.asked_of,
        )  # fmt: skip
        return await self._build.ask(asked, timeout_seconds=LOOK_SECONDS)

    async def find_refusals(self, one: Served, base: str, commit: str) -> tuple[str, ...]:
        """Return why a commit may not follow what is live of a project without a review.

        Args:
            one: the project.
            base: what its branch holds, where nothing of it is live.
            commit: that is to go live.

        Raises: as `plan`.
        """
        live = await asyncio.to_thread(applied_commit, one.at)
        answer = await self.plan(one, live or base, commit)
        looser = [f"it loosens the rules of review: {why}" for why in answer.loosened]
        waits = [answer.waits] if answer.waits else []
        found = [*looser, *_mistakes(answer), *answer.refused, *waits]
        if found or not answer.gate:
            return (*found, *await asyncio.to_thread(find_missing, one, answer.plan))
        place = str(one.at.project.state / "proposals" / commit)
        part = await self.look(
            one, commit, answer, place, wait_seconds=TEST_SECONDS, is_urgent=True
        )
        return part.obstacles or (("its tests are still running",) if part.tests == RUNNING else ())

    async def look(
        self, one: Served, commit: str, answer: ProposedChange, place: str, *, wait_seconds: float,
        is_urgent: bool = False,
    ) -> Part:  # fmt: skip
        """Return what a commit would do to a project; its tests run if they have not yet.

        Args:
            one: the project.
            commit: as it would be.
            answer: what `plan` has said of it.
            place: whose tests these are, as of a Trial.
            wait_seconds: for them to end.
            is_urgent: as of a Trial.
        """
        missing = await asyncio.to_thread(find_missing, one, answer.plan)
        tests, tested = await self._test(
            one, commit, answer.tree, place, wait_seconds, is_urgent=is_urgent
        )
        failed = [tests.summary] if answer.gate and tests and tests.is_against else []
        return Part(
            one.name, tuple(answer.diagnostics), answer.plan, answer.text, tests,
            answer.gate, tested, (*missing, *failed), one.source.path,
        )  # fmt: skip

    async def _test(
        self, one: Served, commit: str, tree: str, place: str, wait_seconds: float, *,
        is_urgent: bool,
    ) -> tuple[Tests | None, Key]:  # fmt: skip
        """Return what the tests say, and what they were run for; `tree` is empty with mistakes."""
        if not tree:
            return None, ()
        off = await asyncio.to_thread(read_features_off, one.at.plane.settings)
        asked = RunCommitTests(_source(one, commit), place, one.at.engine, tuple(off))
        trial = Trial(place, (one.name, tree, *off), asked, is_urgent)
        return await self._proposal_tests.look(trial, wait_seconds=wait_seconds), trial.tree

    def find_tests(self, place: str, tested: Key, *, ends: bool) -> Tests | None:
        """Return what the tests at a place say, None where nobody knows; `ends` those that run."""
        if ends:
            self._proposal_tests.end(place)
        return self._proposal_tests.find(place, tested)


def _mistakes(answer: ProposedChange) -> list[str]:
    """Return the first mistake of a project that would not work, with its place."""
    errors = [one for one in answer.diagnostics if one.severity == "error"]
    return [f"{one.file}:{one.line}: {one.message}" for one in errors[:1]]


def find_missing(one: Served, plan: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Say which new values of the environment nobody has set: it would not go live."""
    names = [each["name"] for each in plan["plan"]["needs"]["env"]] if plan else []
    if not names:
        return ()
    asked = {"required": True, "generate": False, "default": None}
    _, missing = one.at.secrets.resolve(dict.fromkeys(names, asked))
    project = one.at.project.name
    cure = f" --project {project}" if project else ""
    return tuple(
        f"env {each} has no value, and the merge would not go live:"
        f" 'bbops env set {each}{cure}' on the server"
        for each in missing
    )


def _source(one: Served, commit: str) -> dict[str, Any]:
    return dict(describe(one.source.repository, commit, one.source.branch, one.source.path).source)
