"""How a proposal stands: what merging it now would do, and what is in the way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from bbops.errors import BbopsError
from bbops.git.proposals import Candidate, Forge, Proposal
from bbops_server.accounts.features import read_features_off
from bbops_server.forge.rules import (
    Demands,
    Eligible,
    Voices,
    count_voices,
    find_obstacles,
    find_unready,
    join,
)
from bbops_server.forge.trials import Key, Tests, Trial, Trials
from bbops_server.processes import LivingChild
from bbops_server.reconciler.attempt import Workshop
from bbops_server.reconciler.record import read_record
from bbops_server.reconciler.sources import BranchSource, describe

LOOK_SECONDS: Final = 120.0
MOST_NAMED: Final = 20

FindEligible = Callable[[Sequence[str]], Eligible]


@dataclass(frozen=True, slots=True)
class Standing:
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
        ended: `merged` or `closed`: the rest is how it stood before that; empty while it is open.
    """

    candidate: Candidate | None
    demands: Demands
    voices: Voices
    diagnostics: tuple[Mapping[str, Any], ...] = ()
    plan: Mapping[str, Any] | None = None
    text: str = ""
    tests: Tests | None = None
    is_gated: bool = False
    obstacles: tuple[str, ...] = ()
    tested: Key = ()
    shares: Mapping[str, str] = field(default_factory=dict)
    ended: str = ""

    @property
    def waits_for_tests(self) -> bool:
        """Whether it depends on tests that still run whether it can be merged."""
        return self.is_gated and self.tests is not None and self.tests.state == "running"

    @property
    def summary(self) -> str:
        """What it would do, in a line, and whether it can be merged."""
        says = self.text.splitlines()[1] if self.text.count("\n") else "its plan cannot be said"
        if self.ended:
            return f"{says}; it is {self.ended}"
        return f"{says}; {'it cannot be merged yet' if self.obstacles else 'it can be merged'}"


@dataclass(frozen=True, slots=True)
class Served:
    """A project that follows the repository."""

    name: str
    at: Workshop
    source: BranchSource


class Bench:
    """Where the proposals of one project are looked at."""

    def __init__(
        self, build: LivingChild, forge: Forge, trials: Trials, mine: Served,
        others: Sequence[Served] = (),
    ) -> None:  # fmt: skip
        """`others` are of the same repository; a merge must not break them either."""
        self._build, self.forge, self._trials = build, forge, trials
        self._mine, self._others = mine, others

    @property
    def folder(self) -> str:
        """The project's, in a repository of several; empty else."""
        return self._mine.source.path

    async def look(
        self, proposal: Proposal, find_eligible: FindEligible, *, wait_seconds: float = 0.0
    ) -> Standing:
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

    def find_tests(self, proposal: Proposal, tested: Key) -> Tests | None:
        """Return what the tests say of what was merged, None where nobody knows.

        Those of a merge run to their end, those of what was closed are ended.
        """
        if proposal.state == "closed":
            self._trials.end(self._place(proposal))
        return self._trials.find(self._place(proposal), tested)

    async def agree(self, standing: Standing, who: str) -> None:
        """Let the data lose what the plan says, as the reviewers have agreed."""
        candidate = standing.candidate
        if candidate is None or not standing.voices.approved:
            return
        for one in (self._mine, *self._others):
            if digest := standing.shares.get(one.name):
                await self._plan(one, candidate, digest=digest, agreed_by=who)

    async def _look(
        self, proposal: Proposal, candidate: Candidate, find_eligible: FindEligible,
        wait_seconds: float,
    ) -> Standing:  # fmt: skip
        if carried := await self._find_carried(candidate):
            return _stuck(
                candidate,
                f"'{proposal.target}' has moved files that this changes, to"
                f" {', '.join(carried[:MOST_NAMED])}: merge that branch into it",
            )  # fmt: skip
        answer = await self._plan(self._mine, candidate)
        own, others = _demands(answer), await self._ask_others(candidate)
        demands = join(own, others)
        shares = {self._mine.name: own.digest} | {name: one.digest for name, one in others.items()}
        eligible = await asyncio.to_thread(find_eligible, list(others))
        voices = count_voices(proposal, demands.digest, eligible)
        tests: Tests | None = None
        tested: Key = ()
        if answer["tree"]:
            trial = await self._prepare(proposal, candidate, answer["tree"])
            tests, tested = await self._trials.look(trial, wait_seconds=wait_seconds), trial.tree
        missing = await asyncio.to_thread(self._find_missing, answer["plan"])
        obstacles = (*find_unready(proposal), *find_obstacles(demands, voices), *missing)
        failed = [tests.summary] if answer["gate"] and tests and tests.is_against else []
        return Standing(
            candidate, demands, voices, tuple(answer["diagnostics"]), answer["plan"],
            answer["text"], tests, answer["gate"], (*obstacles, *failed), tested, shares,
        )  # fmt: skip

    def _find_missing(self, plan: Mapping[str, Any] | None) -> tuple[str, ...]:
        """Say which new values of the environment nobody has set: a merge would not go live."""
        names = [one["name"] for one in plan["plan"]["needs"]["env"]] if plan else []
        if not names:
            return ()
        asked = {"required": True, "generate": False, "default": None}
        _, missing = self._mine.at.secrets.resolve(dict.fromkeys(names, asked))
        project = self._mine.at.project.name
        cure = f" --project {project}" if project else ""
        return tuple(
            f"env {one} has no value, and the merge would not go live:"
            f" 'bbops env set {one}{cure}' on the server"
            for one in missing
        )

    async def _prepare(self, proposal: Proposal, candidate: Candidate, tree: str) -> Trial:
        """Return what is to be tested: the project as a merge would make it."""
        at, name = self._mine.at, self._mine.name
        source = _describe(self._mine, candidate.commit)
        place = self._place(proposal)
        off = await asyncio.to_thread(read_features_off, at.plane.settings)
        asked = {"do": "try", "source": source, "state": place, "engine": at.engine, "off": off}
        return Trial(place, (name, tree, *off), asked)

    def _place(self, proposal: Proposal) -> str:
        return str(self._mine.at.project.state / "proposals" / str(proposal.number))

    async def _find_carried(self, candidate: Candidate) -> tuple[str, ...]:
        """Return files of others that a merge would change unseen: rights are asked of the head."""
        return await asyncio.to_thread(self.forge.find_carried, candidate) if self._others else ()

    async def _ask_others(self, candidate: Candidate) -> dict[str, Demands]:
        """Return what the projects ask for whose files a merge would change, by their names."""
        changed = [one for one in self._others if await self._is_changed(one, candidate)]
        answers = {one.name: await self._plan(one, candidate) for one in changed}
        for answer in answers.values():
            if answer["plan"] is None:  # what is wrong with it is not shown here
                answer["refused"] = ("it would not work; 'bbops validate' in its folder says why",)
        return {name: _demands(answer) for name, answer in answers.items()}

    async def _is_changed(self, one: Served, candidate: Candidate) -> bool:
        commits = [candidate.base, candidate.commit]
        asked = {
            "do": "trees", "repository": str(one.source.repository), "quarantine": "",
            "folder": one.source.path, "commits": commits,
        }  # fmt: skip
        found = await self._build.ask(asked, timeout_seconds=LOOK_SECONDS)
        return bool(found.get(commits[0]) != found.get(commits[1]))

    async def _plan(self, one: Served, candidate: Candidate, **more: str) -> dict[str, Any]:
        sides = {
            "base": _describe(one, candidate.base), "source": _describe(one, candidate.commit),
        }  # fmt: skip
        live = await asyncio.to_thread(read_record, one.at) or {}
        asked = {**sides, **one.at.asked_of, **more, "review": live.get("review", {})}
        return await self._ask("propose", one.at, asked)

    async def _ask(self, verb: str, at: Workshop, asked: dict[str, Any]) -> dict[str, Any]:
        off = await asyncio.to_thread(read_features_off, at.plane.settings)
        known = {"do": verb, "engine": at.engine, "off": off}
        return await self._build.ask({**known, **asked}, timeout_seconds=LOOK_SECONDS)


def _describe(one: Served, commit: str) -> dict[str, Any]:
    return dict(describe(one.source.repository, commit, one.source.branch, one.source.path)[1])


def _demands(answer: Mapping[str, Any]) -> Demands:
    return Demands(
        answer["digest"], answer["approvals"], tuple(answer["reasons"]),
        tuple(answer["refused"]), answer["agents"],
    )  # fmt: skip


def _stuck(candidate: Candidate | None, why: str) -> Standing:
    return Standing(candidate, Demands("", 0), Voices((), (), ()), obstacles=(why,))
