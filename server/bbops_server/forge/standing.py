"""How a proposal stands: what merging it now would do, and what is in the way."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bbops.errors import BbopsError
from bbops.git.proposals import Candidate, Forge, Proposal
from bbops_server.accounts.features import read_features_off
from bbops_server.forge.rules import Demands, Voices, count_voices, find_obstacles
from bbops_server.processes import LivingChild
from bbops_server.reconciler.attempt import Workshop
from bbops_server.reconciler.sources import BranchSource, describe

LOOK_SECONDS: Final = 120.0


@dataclass(frozen=True, slots=True)
class Standing:
    """What merging a proposal now would do.

    Attributes:
        diagnostics: of the project as it would be, with this and what the target holds.
        plan: a document as `bbops plan --json` prints it; None where it cannot be said.
        text: the same as `bbops plan` prints it.
        obstacles: what is in the way; empty when it can be merged.
    """

    candidate: Candidate | None
    demands: Demands
    voices: Voices
    diagnostics: tuple[Mapping[str, Any], ...] = ()
    plan: Mapping[str, Any] | None = None
    text: str = ""
    obstacles: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """What it would do, in a line, and whether it can be merged."""
        says = self.text.splitlines()[1] if self.text.count("\n") else "its plan cannot be said"
        return f"{says}; {'it cannot be merged yet' if self.obstacles else 'it can be merged'}"


class Bench:
    """Where the proposals of one project are looked at."""

    def __init__(
        self, build: LivingChild, forge: Forge, at: Workshop, source: BranchSource
    ) -> None:
        self._build, self.forge, self._at, self._source = build, forge, at, source

    async def look(self, proposal: Proposal, *, is_alone: bool = False) -> Standing:
        """Return how a proposal stands."""
        if proposal.state != "open":
            return _stuck(proposal, None, f"it is {proposal.state}")
        try:
            candidate = await asyncio.to_thread(self.forge.prepare, proposal.number)
        except BbopsError as error:
            return _stuck(proposal, None, error.message)
        if candidate.conflicts:
            files = ", ".join(candidate.conflicts[:20])
            return _stuck(
                proposal, candidate,
                f"it conflicts with '{proposal.target}' in {files}: merge that branch into it",
            )  # fmt: skip
        try:
            answer = await self._ask(candidate, proposal.target)
        except BbopsError as error:
            return _stuck(proposal, candidate, error.message)
        demands = Demands(
            answer["digest"], answer["approvals"], tuple(answer["reasons"]),
            tuple(answer["refused"]),
        )  # fmt: skip
        voices = count_voices(proposal, demands.digest, is_alone=is_alone)
        return Standing(
            candidate, demands, voices, tuple(answer["diagnostics"]), answer["plan"],
            answer["text"], tuple(find_obstacles(demands, voices)),
        )  # fmt: skip

    async def _ask(self, candidate: Candidate, target: str) -> dict[str, Any]:
        at = self._at
        off = await asyncio.to_thread(read_features_off, at.plane.settings.state)
        repository, path = self._source.repository, self._source.path
        asked = {
            "do": "propose", "engine": at.engine, "off": off, **at.asked_of,
            "base": describe(repository, candidate.base, target, path)[1],
            "source": describe(repository, candidate.commit, target, path)[1],
        }  # fmt: skip
        return await self._build.ask(asked, timeout_seconds=LOOK_SECONDS)


def _stuck(proposal: Proposal, candidate: Candidate | None, why: str) -> Standing:
    return Standing(candidate, Demands("", 0), count_voices(proposal, ""), obstacles=(why,))
