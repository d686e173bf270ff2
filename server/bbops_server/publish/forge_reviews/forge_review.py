"""The review of new commits on the forge: each by a merged pull request, with its requirements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from bbops.base.disk import replace_file
from bbops_server.forges.hosted import ForgeGone, HostedForge
from bbops_server.forges.values import BranchRules, PullRequest
from bbops_server.process.children import SupervisedChild
from bbops_server.process.messages.reviews import (
    ArrivedCommit,
    MergeAnswer,
    ReadFirstFile,
    ReadMerge,
)
from bbops_server.publish.forge_reviews.coverage import MergedPull, find_coverage
from bbops_server.publish.forge_reviews.owners import GITHUB_OWNERS, GITLAB_OWNERS, CodeOwners
from bbops_server.publish.forge_reviews.rules import (
    MAX_VOICES,
    PullVoices,
    ReviewDemands,
    explain_granters,
    find_excluded,
    find_obstacles,
    granter_ids_of,
    is_of_bot,
    list_voices,
)
from bbops_server.publish.sources.sources import RevisionSource

READ_SECONDS: Final = 120.0
MAX_TEAMS: Final = 20
_SHORT: Final = 12


@dataclass(slots=True)
class ReviewFindings:
    """The result of a review.

    Attributes:
        heads: by reviewed commit, the head of its pull request.
        obstacles: what is missing; empty if every commit is reviewed.
        pages: the addresses of pull requests with obstacles.
    """

    heads: dict[str, str] = field(default_factory=dict)
    obstacles: list[str] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)


class ForgeReview:
    """The review of commits that arrived in a branch of a hosted repository.

    Every method raises ForgeError if the forge does not answer, and BbopsError if the repository
    cannot be read.
    """

    def __init__(
        self, forge: HostedForge, source: RevisionSource, build: SupervisedChild, repository: str,
        branch: str, live: str,
    ) -> None:  # fmt: skip
        self._forge, self._source, self._build = forge, source, build
        self._repository, self._branch, self._live = repository, branch, live

    async def review(
        self, commits: Sequence[ArrivedCommit], approvals: int, reasons: Sequence[str]
    ) -> ReviewFindings:
        """Return whether each commit was reviewed.

        Args:
            commits: the commits on the first-parent line, oldest first.
            approvals: the number that the live rules require.
            reasons: why they require more than for other changes.
        """
        findings, pulls = ReviewFindings(), dict[str, Sequence[PullRequest]]()
        for commit in commits:
            pulls[commit.commit] = await self._forge.find_merged(commit.commit)
        coverage = find_coverage(commits, pulls, self._branch)
        for commit in coverage.uncovered:
            findings.obstacles.append(
                f"no merged pull request into '{self._branch}' brought commit"
                f" {commit.commit[:_SHORT]} by {commit.author}"
            )
        rules = await self._forge.read_rules(self._branch) if coverage.merged else BranchRules()
        demands = ReviewDemands(
            max(approvals, rules.approvals), tuple(reasons), rules.checks, rules.needs_owners,
            rules.patterns,
        )  # fmt: skip
        for merged in coverage.merged:
            obstacles = await self._find_obstacles(merged, demands)
            if obstacles:
                findings.obstacles += [f"#{merged.pull.number}: {why}" for why in obstacles]
                findings.pages.append(merged.pull.url)
            else:
                findings.heads |= {each.commit: merged.pull.head for each in merged.commits}
        return findings

    async def _find_obstacles(self, merged: MergedPull, demands: ReviewDemands) -> list[str]:
        """Return the obstacles of a pull request; reviews count for the right content only."""
        pull = merged.pull
        head = pull.head if merged.has_head else await self._fetch_head(pull)
        if head != pull.head:
            found = f"is {head[:_SHORT]}" if head else "is missing"
            return [f"its head in git {found}, on the forge it is {pull.head[:_SHORT]}"]
        request = ReadMerge(self._repository, merged.base, head, merged.merged.commit)
        content = await self._build.ask(request, timeout_seconds=READ_SECONDS)
        if not content.is_clean:
            commit = merged.merged.commit[:_SHORT]
            return [f"the files of commit {commit} are not the reviewed ones of {head[:_SHORT]}"]
        if content.messages is None:
            return ["the messages of its commits are too long to be read"]
        bots = await self._forge.bot_logins()
        if is_of_bot(pull, bots) and (why := explain_granters(f"{pull.body}\n{content.messages}")):
            return [why]
        return await self._find_missing(pull, content, demands)

    async def _fetch_head(self, pull: PullRequest) -> str:
        ref = self._forge.pull_ref.format(number=pull.number)
        return await self._source.fetch_ref(self._build, ref)

    async def _find_missing(
        self, pull: PullRequest, content: MergeAnswer, demands: ReviewDemands
    ) -> list[str]:
        """Return the missing approvals and checks of a pull request."""
        voices = await self._read_voices(pull, content.messages or "")
        checks = (
            await self._forge.list_checks(pull.head) if demands.checks or demands.patterns else {}
        )
        if not demands.needs_owners:
            return list(find_obstacles(demands, voices, checks, {}))
        owners = await self._read_owners()
        if owners.unsupported:
            lines = ", ".join(map(str, owners.unsupported[:5]))
            return [f"CODEOWNERS has unsupported syntax in lines {lines}"]
        if content.files is None:
            return ["it changes too many files to find their owners"]
        named = {owner for file in content.files for owner in owners.owners_of(file)}
        approved = await self._find_approving(named, voices.approved, owners.approvals)
        unowned = owners.find_unowned(content.files, approved)
        return list(find_obstacles(demands, voices, checks, unowned))

    async def _read_voices(self, pull: PullRequest, messages: str) -> PullVoices:
        """Return the verdicts of users who may write."""
        authors = await self._forge.list_authors(pull.number)
        bots = await self._forge.bot_logins()
        ids = granter_ids_of(f"{pull.body}\n{messages}") if is_of_bot(pull, bots) else ()
        renamed = [login for number in ids if (login := await self._find_login(number))]
        excluded = find_excluded(pull, authors, bots, messages, renamed)
        reviews = await self._forge.list_reviews(pull.number)
        voices = list_voices(pull, reviews, excluded)
        asked = dict.fromkeys((*voices.approved, *voices.refused[:MAX_VOICES]))
        writers = {who for who in asked if await self._forge.may_write(who)}
        return voices.of_writers({*writers, *voices.refused[MAX_VOICES:]})

    async def _find_login(self, number: str) -> str:
        """Return the login of a user now; empty for a deleted user."""
        try:
            return await self._forge.login_of(number)
        except ForgeGone:
            return ""

    async def _read_owners(self) -> CodeOwners:
        """Return the owners of files by the live commit."""
        syntax = GITLAB_OWNERS if "sections" in self._forge.capabilities else GITHUB_OWNERS
        request = ReadFirstFile(self._repository, self._live, list(syntax.files))
        text = (await self._build.ask(request, timeout_seconds=READ_SECONDS)).text
        return syntax.parse(text or "")

    async def _find_approving(
        self, owners: set[str], approved: Sequence[str], most: int
    ) -> Mapping[str, set[str]]:
        """Return for each owner who has approved: they, or members of the team, at most `most`."""
        logins = {who.lower() for who in approved}
        found = {owner: {owner} & logins for owner in owners}
        if "teams" not in self._forge.capabilities:
            return found
        for team in self._list_teams(owners - logins)[:MAX_TEAMS]:
            for who in approved:
                if await self._forge.is_team_member(team, who):
                    found[team].add(who.lower())
                    if len(found[team]) >= most:
                        break
        return found

    def _list_teams(self, owners: set[str]) -> list[str]:
        """Return the owners that are teams, or may be one: a group of GitLab needs no slash."""
        may_be_short = "sections" in self._forge.capabilities
        teams = (owner for owner in owners if "/" in owner or may_be_short)
        return sorted(team for team in teams if "@" not in team)


# ---- Reviewed commits, recorded so that a retry does not ask the forge again

_FILE: Final = "reviewed.json"


class ReviewedCommits(msgspec.Struct, frozen=True):
    """Reviewed commits after a live commit.

    Attributes:
        live: the live commit, whose rules were applied.
        approvals: the number of approvals that each has.
        heads: by commit, the head of its pull request.
    """

    live: str
    approvals: int = 0
    heads: Mapping[str, str] = {}


def read_reviewed(state: Path, live: str, approvals: int) -> ReviewedCommits:
    """Return the reviewed commits after a live commit; none with fewer approvals."""
    try:
        found = msgspec.json.decode((state / _FILE).read_bytes(), type=ReviewedCommits)
    except (OSError, msgspec.MsgspecError):
        return ReviewedCommits(live, approvals)
    is_valid = found.live == live and found.approvals >= approvals
    return found if is_valid else ReviewedCommits(live, approvals)


def record_reviewed(state: Path, reviewed: ReviewedCommits) -> None:
    """Record reviewed commits.

    Raises:
        OSError: the state folder cannot be written.
    """
    replace_file(state / _FILE, msgspec.json.encode(reviewed))
