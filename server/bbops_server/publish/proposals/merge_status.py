"""How a proposal stands: what merging it now would do, and what blocks it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from bbops.base.errors import BbopsError
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.interfaces.answers import ProposalTestResult
from bbops.source.git.proposals import Candidate, Forge, Proposal
from bbops_server.process.messages.proposals import ProposedChange
from bbops_server.publish.proposals.parts import Part, Parts, Served, of_project
from bbops_server.publish.proposals.proposal_tests import NEVER_OVER, RUNNING, Key
from bbops_server.publish.proposals.rules import (
    Demands,
    Eligible,
    Voices,
    count_voices,
    find_obstacles,
    find_unready,
    join,
)

MOST_NAMED: Final = 20

FindEligible = Callable[[Sequence[str]], Eligible]


@dataclass(frozen=True, slots=True)
class MergeStatus:
    """What merging a proposal now would do.

    Attributes:
        diagnostics: of the project as it would be, with this and what the target holds.
        plan: a document as `bbops plan --json` prints it; None where it cannot be said.
        text: the same as `bbops plan` prints it.
        tests: what they say of the project as it would be; None where it would not work.
        is_gated: whether tests that fail are in the way.
        obstacles: what is in the way; empty when it can be merged.
        tested: names what the tests were run for; empty where there are none.
        shares: names the plan of each project that it changes, by its name.
        others: the other projects of the repository that it changes.
        hidden: how many more there are, which whoever looks may not read.
        ended: `merged` or `closed`: the rest is how it stood before that; empty while it is open.
    """

    candidate: Candidate | None
    demands: Demands
    voices: Voices
    diagnostics: tuple[JsonDiagnostic, ...] = ()
    plan: Mapping[str, Any] | None = None
    text: str = ""
    tests: ProposalTestResult | None = None
    is_gated: bool = False
    obstacles: tuple[str, ...] = ()
    tested: Key = ()
    shares: Mapping[str, str] = field(default_factory=dict)
    ended: str = ""
    others: tuple[Part, ...] = ()
    hidden: int = 0

    @property
    def gates(self) -> tuple[ProposalTestResult, ...]:
        """What the tests say without which it is not merged."""
        every: tuple[MergeStatus | Part, ...] = (self, *self.others)
        return tuple(one.tests for one in every if one.is_gated and one.tests is not None)

    @property
    def waits_for_tests(self) -> bool:
        """Whether it depends on tests that still run whether it can be merged."""
        return any(one.state == "running" for one in self.gates)

    @property
    def summary(self) -> str:
        """What it would do, in a line, and whether it can be merged."""
        says = self.text.splitlines()[1] if self.text.count("\n") else "its plan cannot be made"
        if self.ended:
            return f"{says}; it is {self.ended}"
        return f"{says}; {'it cannot be merged yet' if self.obstacles else 'it can be merged'}"


class Bench:
    """Where the proposals of one project are looked at."""

    def __init__(
        self, parts: Parts, forge: Forge, mine: Served, others: Sequence[Served] = ()
    ) -> None:
        """`others` are of the same repository; a merge must not break them either."""
        self._parts, self.forge = parts, forge
        self._mine, self._others = mine, others

    async def look(
        self, proposal: Proposal, find_eligible: FindEligible, *, wait_seconds: float = 0.0
    ) -> MergeStatus:
        """Return how an open proposal stands; its tests are waited for so long.

        Args:
            proposal: with its reviews.
            find_eligible: says who may review it, by the names of other projects that it changes.
            wait_seconds: for its tests.
        """
        try:
            candidate = await asyncio.to_thread(self.forge.prepare, proposal.number)
        except BbopsError as error:
            return _stuck(None, error.message)
        if candidate.conflicts:
            files = ", ".join(candidate.conflicts[:MOST_NAMED])
            return _stuck(
                candidate,
                f"it conflicts with '{proposal.target}' in {files}: merge that branch into it",
            )  # fmt: skip
        try:
            return await self._look(proposal, candidate, find_eligible, wait_seconds)
        except BbopsError as error:
            return _stuck(candidate, error.message)

    def recall(self, proposal: Proposal, kept: MergeStatus) -> MergeStatus:
        """Return how a proposal stood before its end, with what its tests have said since.

        Those of a merge run to their end, those of what was closed are ended.
        """

        def find(
            tests: ProposalTestResult | None, project: str, tested: Key
        ) -> ProposalTestResult | None:
            if tests != RUNNING:
                return tests
            place, ends = self._place(proposal, project), proposal.state == "closed"
            return self._parts.find_tests(place, tested, ends=ends) or NEVER_OVER

        others = (replace(one, tests=find(one.tests, one.project, one.tested))
                  for one in kept.others)  # fmt: skip
        return replace(kept, tests=find(kept.tests, "", kept.tested), others=tuple(others))

    async def weigh_unreviewed(self, commit: str, base: str) -> tuple[str, ...]:
        """Return why a commit on top of `base` may not go live without a review; empty if it may.

        It keeps every rule of review that is live, and everything that a push is checked for. Its
        tests run, and are waited for, where they are a gate.

        Raises:
            BbopsError: the repository or the data cannot be read.
        """
        candidate = Candidate(base, commit, commit)
        found = [
            of_project(one.name, why) if one is not self._mine else why
            for one in (self._mine, *self._others)
            if await self._is_changed(one, candidate)
            for why in await self._parts.find_refusals(one, base, commit)
        ]  # fmt: skip
        return tuple(found)

    async def agree(self, merge_status: MergeStatus, who: str) -> None:
        """Let the data lose what the plan says, as the reviewers have agreed."""
        candidate = merge_status.candidate
        if candidate is None or not merge_status.voices.approved:
            return
        for one in (self._mine, *self._others):
            if digest := merge_status.shares.get(one.name):
                await self._plan(one, candidate, digest=digest, agreed_by=who)

    async def _look(
        self, proposal: Proposal, candidate: Candidate, find_eligible: FindEligible,
        wait_seconds: float,
    ) -> MergeStatus:  # fmt: skip
        if carried := await self._find_carried(candidate):
            return _stuck(
                candidate,
                f"'{proposal.target}' has moved files that this changes, to"
                f" {', '.join(carried[:MOST_NAMED])}: merge that branch into it",
            )  # fmt: skip
        changed = [one for one in self._others if await self._is_changed(one, candidate)]
        answers = {one.name: await self._plan(one, candidate) for one in (self._mine, *changed)}
        own, *rest = map(_demands, answers.values())
        demands = join(own, {one.name: asked for one, asked in zip(changed, rest, strict=True)})
        eligible = await asyncio.to_thread(find_eligible, [one.name for one in changed])
        voices = count_voices(proposal, demands.digest, eligible)
        mine, *parts = await asyncio.gather(*(
            self._parts.look(one, candidate.commit, answers[one.name],
                             self._place(proposal, "" if one is self._mine else one.name),
                             wait_seconds=wait_seconds)
            for one in (self._mine, *changed)
        ))  # fmt: skip
        theirs = (of_project(one.project, why) for one in parts for why in one.obstacles)
        obstacles = (*find_unready(proposal), *find_obstacles(demands, voices), *mine.obstacles)
        return MergeStatus(
            candidate, demands, voices, mine.diagnostics, mine.plan, mine.text, mine.tests,
            mine.is_gated, (*obstacles, *theirs), mine.tested,
            {name: answer.digest for name, answer in answers.items()}, others=tuple(parts),
        )  # fmt: skip

    def _place(self, proposal: Proposal, project: str) -> str:
        """Return where tests run; `project` is empty for the proposal's own."""
        place = self._mine.at.project.state / "proposals" / str(proposal.number)
        return str(place / project)

    async def _find_carried(self, candidate: Candidate) -> tuple[str, ...]:
        """Return files of others that a merge would change unseen: rights are asked of the head."""
        return await asyncio.to_thread(self.forge.find_carried, candidate) if self._others else ()

    async def _is_changed(self, one: Served, candidate: Candidate) -> bool:
        return await self._parts.is_changed(one, candidate.base, candidate.commit)

    async def _plan(self, one: Served, candidate: Candidate, **more: str) -> ProposedChange:
        return await self._parts.plan(one, candidate.base, candidate.commit, **more)


def _demands(answer: ProposedChange) -> Demands:
    return Demands(
        answer.digest, answer.approvals, tuple(answer.reasons),
        tuple(answer.refused), answer.agents,
    )  # fmt: skip


def _stuck(candidate: Candidate | None, why: str) -> MergeStatus:
    return MergeStatus(candidate, Demands("", 0), Voices((), (), ()), obstacles=(why,))
