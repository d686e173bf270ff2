"""The merge status of a proposal: effects, open requirements, and the stored status."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import structs

from bbops.base.errors import BbopsError
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.interfaces.answers import ProposalTestResult
from bbops.source.git.proposals import Candidate, Proposal
from bbops_server.process.messages.proposals import ProposedChange
from bbops_server.publish.impact.impact import (
    RUNNING,
    STOPPED,
    HostedProject,
    ImpactReader,
    ProjectImpact,
    TestKey,
    of_project,
)
from bbops_server.publish.proposals.rules import (
    EligibleReviewers,
    MergeRequirements,
    ReviewTally,
    find_obstacles,
    find_unready,
    join,
    tally_reviews,
)

if TYPE_CHECKING:
    from bbops_server.publish.proposals.local import LocalForge

MAX_NAMED: Final = 20

FindEligible = Callable[[Sequence[str]], EligibleReviewers]


@dataclass(frozen=True, slots=True)
class MergeStatus:
    """The effect of merging a proposal now.

    Attributes:
        diagnostics: diagnostics of the merged project.
        plan: a document as of `bbops plan --json`; None if there is no plan.
        text: the plan as of `bbops plan`.
        tests: test results of the merged project; None if it has errors.
        is_gated: whether failing tests block the merge.
        obstacles: what blocks the merge; empty if it can be merged.
        tested: the key of the test run; empty without one.
        shares: the digest of the plan of each changed project, by its name.
        others: other projects of the repository that the merge changes.
        hidden: the number of changed projects that the reader may not see.
        ended: `merged` or `closed`, with the status before that; empty while it is open.
    """

    candidate: Candidate | None
    demands: MergeRequirements
    voices: ReviewTally
    diagnostics: tuple[JsonDiagnostic, ...] = ()
    plan: Mapping[str, Any] | None = None
    text: str = ""
    tests: ProposalTestResult | None = None
    is_gated: bool = False
    obstacles: tuple[str, ...] = ()
    tested: TestKey = ()
    shares: Mapping[str, str] = field(default_factory=dict)
    ended: str = ""
    others: tuple[ProjectImpact, ...] = ()
    hidden: int = 0

    @property
    def gates(self) -> tuple[ProposalTestResult, ...]:
        """The results of tests that block the merge if they fail."""
        projects: tuple[MergeStatus | ProjectImpact, ...] = (self, *self.others)
        return tuple(each.tests for each in projects if each.is_gated and each.tests is not None)

    @property
    def waits_for_tests(self) -> bool:
        """Whether running tests decide whether it can be merged."""
        return any(tests.state == "running" for tests in self.gates)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Results of tests that do not block the merge, and why not."""
        return (*_warn(self), *(
            of_project(part.project, why) for part in self.others for why in _warn(part)
        ))  # fmt: skip

    @property
    def summary(self) -> str:
        """The effect in one line, and whether it can be merged."""
        effect = self.text.splitlines()[1] if self.text.count("\n") else "its plan cannot be made"
        if self.ended:
            return f"{effect}; it is {self.ended}"
        return f"{effect}; {'it cannot be merged yet' if self.obstacles else 'it can be merged'}"


class MergeChecker:
    """Checks whether proposals of one project can be merged."""

    def __init__(
        self,
        reader: ImpactReader,
        forge: LocalForge,
        own: HostedProject,
        others: Sequence[HostedProject] = (),
    ) -> None:
        """`others` are projects of the same repository, which a merge must not break either."""
        self._reader, self.forge = reader, forge
        self._own, self._others = own, others

    async def check(
        self, proposal: Proposal, find_eligible: FindEligible, *, wait_seconds: float = 0.0
    ) -> MergeStatus:
        """Return the merge status of an open proposal.

        Args:
            proposal: the proposal with its reviews.
            find_eligible: returns its reviewers, by the names of other projects that it changes.
            wait_seconds: the time to wait for its tests.
        """
        try:
            candidate = await asyncio.to_thread(self.forge.prepare, proposal.number)
        except BbopsError as error:
            return _blocked(None, error.message)
        if candidate.conflicts:
            files = ", ".join(candidate.conflicts[:MAX_NAMED])
            return _blocked(
                candidate,
                f"it conflicts with '{proposal.target}' in {files}: merge that branch into it",
            )  # fmt: skip
        try:
            return await self._check(proposal, candidate, find_eligible, wait_seconds)
        except BbopsError as error:
            return _blocked(candidate, error.message)

    def recall(self, proposal: Proposal, stored: MergeStatus) -> MergeStatus:
        """Return the stored status of an ended proposal, with later results of its tests.

        The tests of a merged proposal run to their end, the tests of a closed one are stopped.
        """

        def find(
            tests: ProposalTestResult | None, project: str, tested: TestKey
        ) -> ProposalTestResult | None:
            if tests != RUNNING:
                return tests
            place, ends = self._place(proposal, project), proposal.state == "closed"
            return self._reader.find_tests(place, tested, ends=ends) or STOPPED

        others = (replace(part, tests=find(part.tests, part.project, part.tested))
                  for part in stored.others)  # fmt: skip
        return replace(stored, tests=find(stored.tests, "", stored.tested), others=tuple(others))

    async def check_unreviewed(self, commit: str, base: str) -> tuple[str, ...]:
        """Return why a commit on top of `base` may not go live without a review; empty if it may.

        The live rules of review and the checks of a push apply. Tests that are a gate run to their
        end.

        Raises:
            BbopsError: the repository or the data cannot be read.
        """
        candidate = Candidate(base, commit, commit)
        return tuple([
            of_project(project.name, why) if project is not self._own else why
            for project in (self._own, *self._others)
            if await self._is_changed(project, candidate)
            for why in await self._reader.find_refusals(project, base, commit)
        ])  # fmt: skip

    async def approve_losses(self, merge_status: MergeStatus, who: str) -> None:
        """Approve the losses of the plan, as the reviewers have approved the proposal."""
        candidate = merge_status.candidate
        if candidate is None or not merge_status.voices.approved:
            return
        for project in (self._own, *self._others):
            if digest := merge_status.shares.get(project.name):
                await self._plan(project, candidate, digest=digest, agreed_by=who)

    async def _check(
        self, proposal: Proposal, candidate: Candidate, find_eligible: FindEligible,
        wait_seconds: float,
    ) -> MergeStatus:  # fmt: skip
        if carried := await self._find_carried(candidate):
            return _blocked(
                candidate,
                f"'{proposal.target}' has moved files that this changes, to"
                f" {', '.join(carried[:MAX_NAMED])}: merge that branch into it",
            )  # fmt: skip
        changed = [each for each in self._others if await self._is_changed(each, candidate)]
        projects = (self._own, *changed)
        answers = {project.name: await self._plan(project, candidate) for project in projects}
        own, *rest = map(_requirements, answers.values())
        demands = join(own, {
            project.name: demand for project, demand in zip(changed, rest, strict=True)
        })  # fmt: skip
        eligible = await asyncio.to_thread(find_eligible, [project.name for project in changed])
        voices = tally_reviews(proposal, demands.digest, eligible)
        part, *parts = await asyncio.gather(*(
            self._reader.read_impact(project, candidate.commit, answers[project.name],
                              self._place(proposal, "" if project is self._own else project.name),
                              wait_seconds=wait_seconds)
            for project in projects
        ))  # fmt: skip
        others = (of_project(other.project, why) for other in parts for why in other.obstacles)
        obstacles = (*find_unready(proposal), *find_obstacles(demands, voices), *part.obstacles)
        return MergeStatus(
            candidate, demands, voices, part.diagnostics, part.plan, part.text, part.tests,
            part.is_gated, (*obstacles, *others), part.tested,
            {name: answer.digest for name, answer in answers.items()}, others=tuple(parts),
        )  # fmt: skip

    def _place(self, proposal: Proposal, project: str) -> str:
        """Return the state folder of a test run; `project` is empty for the proposal's own."""
        place = self._own.at.project.state / "proposals" / str(proposal.number)
        return str(place / project)

    async def _find_carried(self, candidate: Candidate) -> tuple[str, ...]:
        """Return files of other projects that a merge changes, but its head does not."""
        return await asyncio.to_thread(self.forge.find_carried, candidate) if self._others else ()

    async def _is_changed(self, project: HostedProject, candidate: Candidate) -> bool:
        return await self._reader.is_changed(project, candidate.base, candidate.commit)

    async def _plan(
        self, project: HostedProject, candidate: Candidate, **more: str
    ) -> ProposedChange:
        return await self._reader.plan(project, candidate.base, candidate.commit, **more)


def _warn(part: MergeStatus | ProjectImpact) -> Iterator[str]:
    """Yield a sentence if tests do not pass but are not a gate."""
    if part.is_gated or part.tests is None or part.tests.state == "passed":
        return
    yield f"{part.tests.summary}; only 'tests.gate' of project.yaml would make that block a merge"


def _requirements(answer: ProposedChange) -> MergeRequirements:
    return MergeRequirements(
        answer.digest, answer.approvals, tuple(answer.reasons),
        tuple(answer.refused), answer.agents,
    )  # fmt: skip


def _blocked(candidate: Candidate | None, why: str) -> MergeStatus:
    return MergeStatus(
        candidate, MergeRequirements("", 0), ReviewTally((), (), ()), obstacles=(why,)
    )


# ---- The stored merge status of a proposal, shown after its end

MAX_BYTES: Final = 256 << 10
MAX_TEXT: Final = 32 << 10
MAX_DIAGNOSTICS: Final = 20
"""The diagnostics that are kept if all of them are too long."""

_EMPTY: Final = MergeStatus(None, MergeRequirements("", 0), ReviewTally((), (), ()))
_TOO_LONG: Final = replace(_EMPTY, text="how it stood was too long to keep")
_decode = msgspec.json.Decoder(MergeStatus).decode


def encode(merge_status: MergeStatus) -> str:
    """Return it as JSON of at most MAX_BYTES; a longer one is stored without its plan, then less.

    A shortened text is marked, and git has the whole diff.
    """
    short = _shorten(merge_status)
    shortest = replace(short, obstacles=(), others=())
    texts = map(_write, (merge_status, short, shortest))
    return next((text for text in texts if len(text.encode()) <= MAX_BYTES), _write(_TOO_LONG))


def _shorten(merge_status: MergeStatus) -> MergeStatus:
    others = (
        replace(
            part, plan=None, text=_cut(part.text), diagnostics=part.diagnostics[:MAX_DIAGNOSTICS],
            tests=_cut_tests(part.tests),
        )
        for part in merge_status.others
    )  # fmt: skip
    return replace(
        merge_status, plan=None, text=_cut(merge_status.text), tests=_cut_tests(merge_status.tests),
        diagnostics=merge_status.diagnostics[:MAX_DIAGNOSTICS], others=tuple(others),
    )  # fmt: skip


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}\n… cut, it was too long to keep"


def _cut_tests(tests: ProposalTestResult | None) -> ProposalTestResult | None:
    if tests is None:
        return None
    return structs.replace(tests, diagnostics=tests.diagnostics[:MAX_DIAGNOSTICS])


def _write(merge_status: MergeStatus) -> str:
    return msgspec.json.encode(merge_status).decode()


def read(text: str | None) -> MergeStatus:
    """Return a stored status; an empty one for None and for text of another version."""
    try:
        return _decode(text or "")
    except msgspec.DecodeError:
        return _EMPTY


def end(proposal: Proposal, stored: MergeStatus) -> MergeStatus:
    """Return the status of a merged or closed proposal, with its end as the obstacle."""
    return replace(stored, ended=proposal.state, obstacles=(f"it is {proposal.state}",))
