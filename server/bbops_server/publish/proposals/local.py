"""Proposals of a local repository: code in its refs, records in the control database."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from bbops.base.errors import GitError
from bbops.source.git.address import require_branch
from bbops.source.git.arrivals import find_between, find_carried, find_new
from bbops.source.git.command import failure, run
from bbops.source.git.comparing import read_patch
from bbops.source.git.place import Place
from bbops.source.git.proposals import PREVIEW, Candidate, Proposal, State, Verdict, Wish
from bbops.source.git.store import Store
from bbops.source.git.writing import NOTHING, Identity, make_commit, merge_trees, move_branch
from bbops_server.accounts.proposals import Proposals
from bbops_server.publish.proposals.rules import EligibleReviewers
from bbops_server.settings import WebhookEvent

MAX_PUSHERS: Final = 20
"""The most users who may push to a proposal besides its author."""

VERDICT_EVENTS: Final[Mapping[Verdict, WebhookEvent]] = {
    "approved": "proposal.approved", "refused": "proposal.refused",
    "commented": "proposal.commented",
}  # fmt: skip


MAX_DIFF_BYTES: Final = 256 << 10
"""The most bytes of a diff that are shown."""


@dataclass(frozen=True, slots=True)
class ProposalEvent:
    """A change of a proposal; `who` is empty if the user is unknown."""

    event: WebhookEvent
    proposal: Proposal
    who: str = ""
    text: str = ""


Notify = Callable[[ProposalEvent], None]


class LocalForge:
    """The proposals of one project."""

    def __init__(
        self, place: Place, project: str, records: Proposals, notify: Notify = lambda _: None,
        reviewed: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """`notify` is called for each change, in the thread of the change.

        Commits of the branches `reviewed` were proposed before, and have no new author.
        """
        self._reviewed = reviewed
        self._place, self._project, self._records, self._notify = place, project, records, notify

    @property
    def project(self) -> str:
        """The name of the project."""
        return self._project

    def open(self, wish: Wish) -> Proposal:
        """Create a proposal."""
        title = wish.title or Store(self._place).subject(wish.head)
        pushers = self._find_pushers(wish, wish.author)
        proposal = self._records.add(
            self._project, replace(wish, title=title), least=1 + self._highest(), pushers=pushers
        )
        try:
            self._point_to(proposal.number, wish.head, NOTHING)
        except GitError:
            self._records.change(self._project, proposal.number, state="closed")
            raise
        self._notify(ProposalEvent("proposal.opened", proposal, proposal.author))
        return proposal

    def eligible(self, others: Sequence[str] = ()) -> EligibleReviewers:
        """Return the users who may review a proposal now, with its changes of other projects."""
        reviewers = [self._records.may_review(name) for name in (self._project, *others)]
        known = [each for each in reviewers if each is not None]
        if not known:
            return EligibleReviewers()
        people = frozenset.intersection(*known)
        return EligibleReviewers(people, others=any(each != people for each in known))

    def find(self, wish: Wish) -> Proposal | None:
        """Return the open proposal of the same author, target and topic."""
        return self._records.find(self._project, wish)

    def find_shared(self, wish: Wish) -> Proposal | None:
        """Return another author's open proposal of a branch that has the proposed commit.

        None if the topic is not such a branch, several authors have proposed it, or commits that
        were proposed would be lost.
        """
        others = self._records.find_others(self._project, wish)
        if len(others) != 1 or self._find(f"refs/heads/{wish.topic}") != wish.head:
            return None
        return others[0] if self.follows(others[0].head, wish.head) else None

    def list(self, state: State | None = None) -> Sequence[Proposal]:
        """Return proposals without their reviews, newest first."""
        return self._records.list(self._project, state)

    def get(self, number: int) -> Proposal | None:
        """Return a proposal."""
        return self._records.get(self._project, number)

    def update(self, number: int, wish: Wish) -> Proposal:
        """Propose another commit; an empty title or description is kept.

        Another user who does that is recorded as an author of the commits.
        """
        proposal = self._require(number)
        pushers = self._find_pushers(wish, proposal.author, (*proposal.pushers, wish.author))
        self._records.check(self._project, proposal.author, wish.reviewers)
        self._point_to(number, wish.head, proposal.head)
        texts = {"title": wish.title, "description": wish.description}
        changed = {name: text for name, text in texts.items() if text}
        updated = self._records.change(
            self._project, number, ready=wish.ready, reviewers=wish.reviewers, head=wish.head,
            pushers=pushers, **changed,
        )  # fmt: skip
        self._notify(ProposalEvent("proposal.updated", updated, wish.author))
        return updated

    def mark(
        self, number: int, who: str, *, ready: bool | None = None,
        reviewers: Sequence[str] | None = None,
    ) -> Proposal:  # fmt: skip
        """Mark it as ready or not, or set its reviewers; None keeps a value."""
        number = self._require(number).number
        marked = self._records.change(self._project, number, ready=ready, reviewers=reviewers)
        self._notify(ProposalEvent("proposal.updated", marked, who))
        return marked

    def review(self, number: int, who: str, verdict: Verdict, text: str, plan: str) -> Proposal:
        """Record a review of its current commit and plan."""
        self._require(number)
        reviewed = self._records.say(self._project, number, who, verdict, text, plan)
        self._notify(ProposalEvent(VERDICT_EVENTS[verdict], reviewed, who, text))
        return reviewed

    def prepare(self, number: int) -> Candidate:
        """Return the result of a merge now; its commit is in `refs/pull/N/merge`."""
        proposal = self._require(number)
        store = Store(self._place)
        base = store.resolve(proposal.target)
        if base is None:
            raise GitError(f"there is no branch '{proposal.target}'")
        if store.is_ancestor(proposal.head, base):
            merged_proposal = self._records.change(
                self._project, number, state="merged", merged=base
            )
            self._notify(ProposalEvent("proposal.merged", merged_proposal))
            raise GitError(f"proposal #{number} is in '{proposal.target}' already")
        ref = f"refs/pull/{number}/merge"
        old = self._find(ref)
        if old and store.parents(old) == (base, proposal.head):
            return Candidate(base, proposal.head, old)
        merged = merge_trees(self._place, base, proposal.head)
        if merged.conflicts:
            return Candidate(base, proposal.head, "", merged.conflicts)
        parts = (f"Merge #{number}: {proposal.title}", proposal.description, f"Proposal: #{number}")
        message = "\n\n".join(filter(None, parts))
        author = Identity(proposal.author.partition("@")[0], proposal.author)
        commit = make_commit(self._place, merged.tree, (base, proposal.head), message, author)
        self._update_ref(ref, commit, old or NOTHING)
        return Candidate(base, proposal.head, commit)

    def find_carried(self, candidate: Candidate) -> tuple[str, ...]:
        """Return the files that a merge changes, but the proposed commits do not."""
        return find_carried(self._place, candidate.base, candidate.head, candidate.commit)

    def merge(self, number: int, candidate: Candidate, who: str) -> Proposal:
        """Move the target to a prepared merge, if neither it nor the head has moved since.

        Raises:
            GitError: one has moved, or files of the target are checked out and have changes.
        """
        proposal = self._require(number)
        if proposal.state != "open" or proposal.head != candidate.head or not candidate.commit:
            raise GitError(
                f"proposal #{number} has changed in the meantime", hint="review it again"
            )
        reason = f"merge #{number} by {who}"
        move_branch(self._place, proposal.target, candidate.base, candidate.commit, reason)
        merged = self._records.change(
            self._project, number, state="merged", merged=candidate.commit
        )
        self._delete_preview(number)
        self._notify(ProposalEvent("proposal.merged", merged, who))
        return merged

    def close(self, number: int, who: str) -> Proposal:
        """Close a proposal without a merge; its code stays in `refs/pull`."""
        closed = self._records.change(self._project, self._require(number).number, state="closed")
        self._delete_preview(number)
        self._notify(ProposalEvent("proposal.closed", closed, who))
        return closed

    def keep(self, number: int, merge_status: str) -> None:
        """Store the merge status of an open proposal."""
        self._records.keep_merge_status(self._project, number, merge_status)

    def kept(self, number: int) -> str | None:
        """Return the stored merge status; None without one."""
        return self._records.merge_status(self._project, number)

    def compare(self, base: str, head: str, paths: Sequence[str] = ()) -> str:
        """Return the diff of two commits, at most MAX_DIFF_BYTES; `paths` as in git.

        Raises:
            GitError: a commit cannot be read.
        """
        patch = read_patch(self._place, base, head, paths, most_bytes=MAX_DIFF_BYTES)
        if len(patch.encode()) < MAX_DIFF_BYTES:
            return patch
        whole = patch.rpartition("\n")[0]
        return f"{whole}\n… cut at {MAX_DIFF_BYTES >> 10} kB, git has the rest\n"

    def note_arrivals(self, tips: Sequence[str], who: str, quarantine: Path | None = None) -> None:
        """Record the pusher of commits that no ref has yet as one of their authors.

        Args:
            tips: full ids; the new commits of their histories are recorded.
            who: the pusher's e-mail address.
            quarantine: the folder of a push's objects until it is accepted.

        Raises:
            GitError: the repository cannot be read.
        """
        place = replace(self._place, quarantine=quarantine) if quarantine else self._place
        self._records.arrivals.add(find_new(place, tips), who)

    def note_commit(self, commit: str, who: str) -> None:
        """Record the user who created a commit on this server."""
        self._records.arrivals.add([commit], who)

    def _find_pushers(self, wish: Wish, author: str, known: Sequence[str] = ()) -> Sequence[str]:
        """Return authors besides `author`; commits without a pusher count for the wish's author."""
        store = Store(self._place)  # a followed branch may not exist yet
        bases = filter(None, map(store.resolve, {wish.target, *self._reviewed}))
        commits = find_between(self._place, [*bases], wish.head)
        self._records.arrivals.claim(commits, wish.author)
        pushers = sorted({*known, *self._records.arrivals.find(commits)} - {author})
        if len(pushers) > MAX_PUSHERS:
            raise GitError(
                f"{len(pushers)} people besides the author pushed these commits, at most"
                f" {MAX_PUSHERS} may be",
                hint="propose it in parts",
            )
        return pushers

    # ---- refs
    def resolve(self, branch: str) -> str:
        """Return the commit of a branch. Raises: GitError: the branch does not exist."""
        commit = Store(self._place).resolve(require_branch(branch))
        if commit is None:
            raise GitError(f"there is no branch '{branch}'", hint="push it first")
        return commit

    def holds(self, branch: str, commit: str) -> bool:
        """Return whether a branch has a commit in its history."""
        return self.follows(commit, self.resolve(branch))

    def follows(self, old: str, new: str) -> bool:
        """Return whether a commit descends from another one."""
        return Store(self._place).is_ancestor(old, new)

    def _require(self, number: int) -> Proposal:
        proposal = self.get(number)
        if proposal is None:
            raise GitError(f"project '{self._project}' has no proposal #{number}")
        return proposal

    def _point_to(self, number: int, new: str, old: str) -> None:
        self._update_ref(f"refs/pull/{number}/head", new, old)
        preview = f"refs/heads/{PREVIEW}{number}"
        self._update_ref(preview, new, self._find(preview) or NOTHING)

    def _delete_preview(self, number: int) -> None:
        self._run("update-ref", "-d", f"refs/heads/{PREVIEW}{number}")

    def _update_ref(self, ref: str, new: str, old: str) -> None:
        self._run("update-ref", "-m", "proposal", ref, new, old)

    def _find(self, ref: str) -> str:
        return self._run("for-each-ref", "--format=%(objectname)", "--", ref)

    def _highest(self) -> int:
        """Return the highest number in a ref, also of another project or a pushed branch."""
        patterns = ("refs/pull", f"refs/heads/{PREVIEW}*")
        refs = self._run("for-each-ref", "--format=%(refname)", *patterns).splitlines()
        numbers = (ref.split("/")[2].removeprefix(PREVIEW) for ref in refs)
        return max((int(number) for number in numbers if number.isdecimal()), default=0)

    def _run(self, *arguments: str) -> str:
        answer = run(self._place, arguments)
        if answer.status or answer.ended:
            raise failure(answer, arguments)
        return answer.output.decode(errors="replace").strip()
