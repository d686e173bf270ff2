"""The forge of a repository on this machine: code in its refs, records in the control database."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from bbops.base.errors import GitError
from bbops.source.git.address import require_branch
from bbops.source.git.arriving import find_between, find_new
from bbops.source.git.command import failure, run
from bbops.source.git.comparing import read_patch
from bbops.source.git.place import Place
from bbops.source.git.proposals import PREVIEW, Candidate, Proposal, State, Verdict, Wish
from bbops.source.git.reach import find_carried
from bbops.source.git.store import Store
from bbops.source.git.writing import NOTHING, Identity, make_commit, merge_trees, move_branch
from bbops_server.accounts.proposals import Proposals
from bbops_server.publish.proposals.rules import Eligible
from bbops_server.settings import WebhookEvent

MOST_PUSHERS: Final = 20
"""Who may change one proposal beside its author."""

SAID: Final[Mapping[Verdict, WebhookEvent]] = {
    "approved": "proposal.approved", "refused": "proposal.refused",
    "commented": "proposal.commented",
}  # fmt: skip


MOST_DIFF: Final = 256 << 10
"""Bytes of a difference that are shown: git has the rest."""


@dataclass(frozen=True, slots=True)
class Happened:
    """What happened to a proposal; `who` is empty where nobody is known to have done it."""

    event: WebhookEvent
    proposal: Proposal
    who: str = ""
    text: str = ""


Tell = Callable[[Happened], None]


class LocalForge:
    """Keeps the proposals of one project; a `bbops.source.git.proposals.Forge`."""

    def __init__(
        self, place: Place, project: str, records: Proposals, tell: Tell = lambda _: None,
        reviewed: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """`tell` hears what happens to them, in whichever thread it does.

        What the branches `reviewed` hold came there by proposals, and counts as nobody's work.
        """
        self._reviewed = reviewed
        self._place, self._project, self._records, self._tell = place, project, records, tell

    @property
    def project(self) -> str:
        """Whose they are."""
        return self._project

    def open(self, wish: Wish) -> Proposal:
        """Make a proposal."""
        title = wish.title or Store(self._place).subject(wish.head)
        pushers = self._find_pushers(wish, wish.author)
        made = self._records.add(
            self._project, replace(wish, title=title), least=1 + self._highest(), pushers=pushers
        )
        try:
            self._show(made.number, wish.head, NOTHING)
        except GitError:
            self._records.change(self._project, made.number, state="closed")
            raise
        self._tell(Happened("proposal.opened", made, made.author))
        return made

    def eligible(self, others: Sequence[str] = ()) -> Eligible:
        """Return who may review its proposals now, and in other projects that one changes."""
        found = [self._records.may_review(one) for one in (self._project, *others)]
        known = [one for one in found if one is not None]
        if not known:
            return Eligible()
        people = frozenset.intersection(*known)
        return Eligible(people, others=any(one != people for one in known))

    def find(self, wish: Wish) -> Proposal | None:
        """Return the open proposal of the same author, target and topic."""
        return self._records.find(self._project, wish)

    def find_shared(self, wish: Wish) -> Proposal | None:
        """Return the open proposal by somebody else of a branch that holds what is wished.

        None where the topic is no such branch, where several have proposed it, or where something
        that was proposed would be lost.
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
        """Propose another commit; a title and description that are empty stay.

        Who does so and is not its author is remembered: it is their work, too, then.
        """
        known = self._demand(number)
        pushers = self._find_pushers(wish, known.author, (*known.pushers, wish.author))
        self._records.check(self._project, known.author, wish.reviewers)
        self._show(number, wish.head, known.head)
        said = {"title": wish.title, "description": wish.description}
        words = {name: text for name, text in said.items() if text}
        done = self._records.change(
            self._project, number, ready=wish.ready, reviewers=wish.reviewers, head=wish.head,
            pushers=pushers, **words,
        )  # fmt: skip
        self._tell(Happened("proposal.updated", done, wish.author))
        return done

    def mark(
        self, number: int, who: str, *, ready: bool | None = None,
        reviewers: Sequence[str] | None = None,
    ) -> Proposal:  # fmt: skip
        """Say whether it is ready, and who is asked for a review; what is None stays."""
        number = self._demand(number).number
        done = self._records.change(self._project, number, ready=ready, reviewers=reviewers)
        self._tell(Happened("proposal.updated", done, who))
        return done

    def review(self, number: int, who: str, verdict: Verdict, text: str, plan: str) -> Proposal:
        """Keep what somebody says of it as it is now."""
        self._demand(number)
        said = self._records.say(self._project, number, who, verdict, text, plan)
        self._tell(Happened(SAID[verdict], said, who, text))
        return said

    def prepare(self, number: int) -> Candidate:
        """Return what a merge would make now; the commit is kept in `refs/pull/N/merge`."""
        known = self._demand(number)
        store = Store(self._place)
        base = store.resolve(known.target)
        if base is None:
            raise GitError(f"there is no branch '{known.target}'")
        if store.is_ancestor(known.head, base):
            done = self._records.change(self._project, number, state="merged", merged=base)
            self._tell(Happened("proposal.merged", done))
            raise GitError(f"proposal #{number} is in '{known.target}' already")
        ref = f"refs/pull/{number}/merge"
        kept = self._find(ref)
        if kept and store.parents(kept) == (base, known.head):
            return Candidate(base, known.head, kept)
        merged = merge_trees(self._place, base, known.head)
        if merged.conflicts:
            return Candidate(base, known.head, "", merged.conflicts)
        words = (f"Merge #{number}: {known.title}", known.description, f"Proposal: #{number}")
        message = "\n\n".join(filter(None, words))
        author = Identity(known.author.partition("@")[0], known.author)
        commit = make_commit(self._place, merged.tree, (base, known.head), message, author)
        self._point(ref, commit, kept or NOTHING)
        return Candidate(base, known.head, commit)

    def find_carried(self, candidate: Candidate) -> tuple[str, ...]:
        """Return the files that a merge changes though what was proposed does not."""
        return find_carried(self._place, candidate.base, candidate.head, candidate.commit)

    def merge(self, number: int, candidate: Candidate, who: str) -> Proposal:
        """Let the target hold what was prepared, if neither it nor the head has moved since.

        Raises:
            GitError: one of them has, or files of the target are checked out and have changes.
        """
        known = self._demand(number)
        if known.state != "open" or known.head != candidate.head or not candidate.commit:
            raise GitError(
                f"proposal #{number} has changed in the meantime", hint="review it again"
            )
        reason = f"merge #{number} by {who}"
        move_branch(self._place, known.target, candidate.base, candidate.commit, reason)
        done = self._records.change(self._project, number, state="merged", merged=candidate.commit)
        self._hide(number)
        self._tell(Happened("proposal.merged", done, who))
        return done

    def close(self, number: int, who: str) -> Proposal:
        """Close a proposal that is not wanted; its code stays in `refs/pull`."""
        done = self._records.change(self._project, self._demand(number).number, state="closed")
        self._hide(number)
        self._tell(Happened("proposal.closed", done, who))
        return done

    def keep(self, number: int, merge_status: str) -> None:
        """Keep how an open proposal stands."""
        self._records.keep_merge_status(self._project, number, merge_status)

    def kept(self, number: int) -> str | None:
        """Return how it stood when that was kept last; None where nobody has looked."""
        return self._records.merge_status(self._project, number)

    def compare(self, base: str, head: str, paths: Sequence[str] = ()) -> str:
        """Return what differs between two commits, at most MOST_DIFF bytes; `paths` as in git.

        Raises:
            GitError: one of them cannot be read.
        """
        found = read_patch(self._place, base, head, paths, most_bytes=MOST_DIFF)
        if len(found.encode()) < MOST_DIFF:
            return found
        whole = found.rpartition("\n")[0]
        return f"{whole}\n… cut at {MOST_DIFF >> 10} kB, git has the rest\n"

    def note_arrivals(self, tips: Sequence[str], who: str, quarantine: Path | None = None) -> None:
        """Remember who brings commits that no ref holds yet: they are their work, too.

        Args:
            tips: whole ids; what is new in their histories is theirs.
            who: their e-mail address.
            quarantine: where the objects of a push are until it is accepted.

        Raises:
            GitError: the repository cannot be read.
        """
        place = replace(self._place, quarantine=quarantine) if quarantine else self._place
        self._records.arrivals.add(find_new(place, tips), who)

    def note_commit(self, commit: str, who: str) -> None:
        """Remember who made a commit here."""
        self._records.arrivals.add([commit], who)

    def _find_pushers(self, wish: Wish, author: str, known: Sequence[str] = ()) -> Sequence[str]:
        """Return whose work is proposed beside the author's; what nobody brought is theirs now."""
        store = Store(self._place)  # a branch that is followed need not be there yet
        bases = filter(None, map(store.resolve, {wish.target, *self._reviewed}))
        commits = find_between(self._place, [*bases], wish.head)
        self._records.arrivals.claim(commits, wish.author)
        found = sorted({*known, *self._records.arrivals.find(commits)} - {author})
        if len(found) > MOST_PUSHERS:
            raise GitError(
                f"{len(found)} people besides the author pushed these commits, at most"
                f" {MOST_PUSHERS} may be",
                hint="propose it in parts",
            )
        return found

    # ---- its refs
    def resolve(self, branch: str) -> str:
        """Return the commit of a branch. Raises: GitError: there is none."""
        found = Store(self._place).resolve(require_branch(branch))
        if found is None:
            raise GitError(f"there is no branch '{branch}'", hint="push it first")
        return found

    def holds(self, branch: str, commit: str) -> bool:
        """Return whether a branch has a commit in its history."""
        return self.follows(commit, self.resolve(branch))

    def follows(self, old: str, new: str) -> bool:
        """Return whether a commit only adds to another one."""
        return Store(self._place).is_ancestor(old, new)

    def _demand(self, number: int) -> Proposal:
        found = self.get(number)
        if found is None:
            raise GitError(f"project '{self._project}' has no proposal #{number}")
        return found

    def _show(self, number: int, new: str, old: str) -> None:
        self._point(f"refs/pull/{number}/head", new, old)
        preview = f"refs/heads/{PREVIEW}{number}"
        self._point(preview, new, self._find(preview) or NOTHING)

    def _hide(self, number: int) -> None:
        self._run("update-ref", "-d", f"refs/heads/{PREVIEW}{number}")

    def _point(self, ref: str, new: str, old: str) -> None:
        self._run("update-ref", "-m", "proposal", ref, new, old)

    def _find(self, ref: str) -> str:
        return self._run("for-each-ref", "--format=%(objectname)", "--", ref)

    def _highest(self) -> int:
        """Return the highest number that a ref has: of another project's, of a branch of others."""
        patterns = ("refs/pull", f"refs/heads/{PREVIEW}*")
        refs = self._run("for-each-ref", "--format=%(refname)", *patterns).splitlines()
        numbers = (ref.split("/")[2].removeprefix(PREVIEW) for ref in refs)
        return max((int(one) for one in numbers if one.isdecimal()), default=0)

    def _run(self, *arguments: str) -> str:
        answer = run(self._place, arguments)
        if answer.status or answer.ended:
            raise failure(answer, arguments)
        return answer.output.decode(errors="replace").strip()
