"""One visit to the proposals of a project: what the API and the pages do alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from litestar.exceptions import ClientException, NotFoundException, PermissionDeniedException

from bbops.base.errors import BbopsError
from bbops.source.git.proposals import Proposal, State, Verdict, Wish
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.visit import Visit
from bbops_server.git_http.publishing import Waiting
from bbops_server.git_http.reach import Asking
from bbops_server.git_http.repository import Repository, find_repository, knows
from bbops_server.git_http.request import Refusal
from bbops_server.git_http.visibility import show_to
from bbops_server.publish.proposals.merge_status import MergeStatus
from bbops_server.publish.proposals.proposing import Proposing

MOST_TEXT: Final = 10_000
_WORDS: Final = {"approved": "approve", "refused": "refuse", "commented": "comment on"}


class Reviewing:
    """What somebody does with the proposals of a project."""

    def __init__(self, visit: Visit, name: str) -> None:
        """Raises: NotFoundException: there is no such project, or it is kept elsewhere."""
        git = visit.control.git
        if git is None:
            raise NotFoundException("this server hosts no repositories")
        if not knows(git.projects, name):
            raise NotFoundException(f"there is no project '{name}'")
        try:
            self._repository: Repository = find_repository(git.projects, name)
        except Refusal as refusal:
            raise NotFoundException(refusal.message) from None
        self._visit, self.name, self._git = visit, name, git
        self.control: Proposing = git.proposing(self._repository)

    async def every(self, state: State | None) -> Sequence[Proposal]:
        """Return proposals without their reviews, newest first."""
        return await self._visit.control.ask(self.control.forge.list, state)

    async def look(self, number: int) -> tuple[Proposal, MergeStatus]:
        """Return a proposal and what they may see of how it stands.

        Raises:
            NotFoundException: there is none.
        """
        await self._get(number)
        found, merge_status = await self.control.look(number)
        return found, show_to(merge_status, self._repository, self._visit.caller)

    async def compare(self, merge_status: MergeStatus) -> str:
        """Return what a proposal changes in the files that whoever asks may see."""
        paths = self._repository.visible(self._visit.caller)
        return await self.control.compare(merge_status, paths)

    async def open(self, branch: str, title: str, description: str, **more: Any) -> Proposal:
        """Propose what a branch holds; arguments as of `propose`.

        Raises:
            ClientException: there is no such branch, or it is live itself.
        """
        try:
            head = await self._visit.control.ask(self.control.forge.resolve, branch)
        except BbopsError as error:
            raise refuse(error) from None
        return await self.propose(head, branch, title, description, **more)

    async def propose(
        self, head: str, topic: str, title: str = "", description: str = "", **more: Any
    ) -> Proposal:
        """Propose a commit, which no branch need hold; `more` may be `ready` and `reviewers`.

        Raises:
            ClientException: the live branch holds it already, too much is proposed, or somebody
                is asked who cannot review it.
        """
        await self._require(Permission.PROPOSE, head)
        target = next(
            one.source.branch for one in self._repository.followers if one.name == self.name
        )
        wish = Wish(head, target, topic, self._visit.caller.email, title, description, **more)
        try:
            made = await self.control.open(wish)
        except BbopsError as error:
            raise refuse(error) from None
        await self._note("propose", made.number)
        return made

    async def mark(
        self, number: int, *, ready: bool | None = None, reviewers: Sequence[str] | None = None
    ) -> Proposal:
        """Say whether a proposal is ready, and who is asked for a review; None stays as it is.

        Raises:
            ClientException: it is not open, or somebody is asked who cannot review it.
            PermissionDeniedException: it is somebody else's.
        """
        found = await self._get(number)
        await self._require(Permission.PROPOSE, found.head)
        if ready is not None and not self._may_decide(found):
            raise PermissionDeniedException("only its author or a maintainer can mark it as ready")
        try:
            done = await self._visit.control.ask(
                self.control.forge.mark, number, self._visit.caller.email, ready=ready,
                reviewers=reviewers,
            )  # fmt: skip
        except BbopsError as error:
            raise refuse(error) from None
        await self._note("mark proposal", number)
        return done

    def _may_decide(self, found: Proposal) -> bool:
        """Return whether whoever asks is its author, or a maintainer."""
        is_own = found.author == self._visit.caller.email
        return is_own or self._visit.may(Permission.MERGE, self.name)

    async def say(self, number: int, verdict: Verdict, text: str, plan: str = "") -> Proposal:
        """Review a proposal as it is now, or only comment on it.

        Args:
            number: of it.
            verdict: what is thought of it.
            text: what is said.
            plan: the digest of the plan that was looked at; empty for the one of now.

        Raises:
            ClientException: it is not open, or would do something else by now.
        """
        found, merge_status = await self.look(number)
        await self._require(Permission.REVIEW, found.head)
        if found.state != "open" and verdict != "commented":
            raise ClientException(f"proposal #{number} is {found.state}", status_code=409)
        if plan and plan != merge_status.demands.digest:
            raise ClientException(
                f"proposal #{number} has changed since you reviewed it; review it again",
                status_code=409,
            )
        words = text.strip()[:MOST_TEXT]
        try:
            said = await self._visit.control.ask(
                self.control.forge.review, number, self._visit.caller.email, verdict, words,
                merge_status.demands.digest,
            )  # fmt: skip
        except BbopsError as error:
            raise refuse(error) from None
        await self._note(f"{_WORDS[verdict]} proposal", number)
        return said

    async def merge(self, number: int, head: str = "") -> tuple[Proposal, list[str], bool]:
        """Merge a proposal; return it, what became of it, and whether it is live.

        Raises:
            ClientException: something is in the way.
        """
        found, caller = await self._get(number), self._visit.caller
        await self._require(Permission.MERGE, found.head)
        try:
            done = await self.control.merge(
                number, caller.email, head=head or found.head, by_agent=caller.how == "grant"
            )
        except BbopsError as error:
            await self._note("merge proposal", number, "refused")
            raise refuse(error) from None
        await self._note("merge proposal", number)
        return done, *await self._wait(done)

    async def require_unreviewed(self, commit: str, base: str) -> None:
        """Demand that a commit on top of `base` may go live now, and that they may do that.

        Raises:
            PermissionDeniedException: it changes files of a project in which they may not.
            BbopsError: it would not go live, or the rules of review would be looser by it.
        """
        await self._require(Permission.ROLL_BACK, commit)
        await self.control.require_unreviewed(commit, base)

    async def close(self, number: int) -> Proposal:
        """Close a proposal of one's own, or any where one may merge.

        Raises:
            PermissionDeniedException: it is somebody else's.
        """
        found = await self._get(number)
        await self._require(Permission.REVIEW, found.head)
        if not self._may_decide(found):
            raise PermissionDeniedException("only its author or a maintainer can close a proposal")
        try:
            done = await self._visit.control.ask(
                self.control.forge.close, number, self._visit.caller.email
            )
        except BbopsError as error:
            raise refuse(error) from None
        await self._note("close proposal", number)
        return done

    async def _get(self, number: int) -> Proposal:
        try:
            return await self.control.get(number)
        except BbopsError as error:
            raise NotFoundException(error.message) from None

    async def _wait(self, done: Proposal) -> tuple[list[str], bool]:
        """Wait until a merge is live or stalled."""
        lines, is_live = list[str](), True

        async def say(text: str) -> None:
            lines.append(text)

        for one in self._repository.of_branch(done.target):
            is_live = await Waiting(one.reconciler, done.merged, say).run() and is_live
        return lines, is_live

    async def _require(self, permission: Permission, head: str) -> None:
        """Refuse who may not do so in a project of the same repository that a commit changes."""
        asking = Asking(self._git.build, self._repository, self._visit.caller, permission)
        try:
            why = await asking.find_foreign(head)
        except BbopsError as error:
            raise refuse(error) from None
        if why:
            raise PermissionDeniedException(why)

    async def _note(self, action: str, number: int, outcome: str = "done") -> None:
        await self._visit.note(action, object=f"{self.name} #{number}", outcome=outcome)
