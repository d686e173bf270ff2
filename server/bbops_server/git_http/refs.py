"""Rules for each ref of a push, applied before its objects are read. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from bbops_server.process.messages.repositories import PushSize

MOST_OBJECTS: Final = 100_000
LARGEST_OBJECT_BYTES: Final = 64 << 20
MOST_OBJECT_BYTES: Final = 512 << 20
"""The size of all objects of a push, unpacked: kilobytes of a pack can be gigabytes of zeros."""

_HEADS: Final = "refs/heads/"
_FOR: Final = "refs/for/"
_OURS: Final = re.compile(r"refs/tags/(?:.*/)?v[0-9].*")
_ABOVE: Final = re.compile(r"refs/tags/bbops(?:/[^/]+)?")
"""A ref cannot lie below another one: with tag 'bbops/shop' no 'bbops/shop/v1' can be made."""

_PULL: Final = re.compile(r"refs/pull/([0-9]{1,9})/head")
_PREVIEW: Final = re.compile(r"refs/heads/(proposal-[0-9]+)(?:/.*)?")
_TAGS: Final = "refs/tags/"
_SHOWN: Final = 12
_LONGEST_TOPIC: Final = 100


@dataclass(frozen=True, slots=True)
class Update:
    """A ref that a push changes; `old` is empty for a new ref, `new` for a deleted one."""

    old: str
    new: str
    ref: str

    @property
    def branch(self) -> str:
        """The name of the branch; empty for another ref."""
        return self.ref.removeprefix(_HEADS) if self.ref.startswith(_HEADS) else ""

    @property
    def number(self) -> int | None:
        """The number of its proposal; None for another ref."""
        found = _PULL.fullmatch(self.ref)
        return int(found[1]) if found else None

    @property
    def shown(self) -> str:
        """The name in messages about its errors; empty for refs that are not checked."""
        if self.branch:
            return f"draft '{self.branch}'"
        return "this proposal" if self.ref.startswith(_FOR) else ""

    def __str__(self) -> str:
        """Return the text for the audit log."""
        return f"{self.ref} {self.old[:_SHOWN] or 'new'}..{self.new[:_SHOWN] or 'deleted'}"


@dataclass(frozen=True, slots=True)
class Complaint:
    """The reason why a push is refused, and the fix."""

    message: str
    hint: str = ""

    def __str__(self) -> str:
        """Return the text to print."""
        return f"{self.message}\n    hint: {self.hint}" if self.hint else self.message


def read_updates(lines: Sequence[str]) -> tuple[Update, ...]:
    """Read the input of a hook: lines `old new ref`, where a missing id is all zeros."""
    words = (line.split(" ", 2) for line in lines)
    return tuple(Update(old.strip("0") and old, new.strip("0") and new, ref)
                 for old, new, ref in words)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rights:
    """The rights of a user in the branches that are served.

    Attributes:
        live: the branches that projects follow.
        reviewed: the live branches that change by proposals only.
        may_publish: whether the user may push to the other live branches.
        may_tag: whether the user may push a tag, which belongs to no folder.
        proposed: the only branch that proposals can target: the one of the project in the address.
    """

    live: Collection[str]
    reviewed: Collection[str]
    may_publish: bool
    may_tag: bool = True
    proposed: str = "main"


def find_complaint(update: Update, rights: Rights) -> Complaint | None:
    """Return the reason why a change of a ref is refused; None for an allowed one."""
    ref, branch = update.ref, update.branch
    if branch in rights.live:
        return _find_live(update, branch, rights)
    if _OURS.fullmatch(ref):
        tag = ref.removeprefix(_TAGS)
        return Complaint(
            f"tag '{tag}' cannot be pushed: tags 'v1', 'v2', … name what went live",
            "give it another name",
        )
    if ref.startswith(_TAGS):
        return _find_tag(ref.removeprefix(_TAGS), rights)
    if preview := _PREVIEW.fullmatch(ref):
        return Complaint(f"branch '{preview[1]}' shows a proposal", "push to refs/for instead")
    if ref.startswith(_FOR):
        return _find_proposed(ref, rights)
    if not ref.startswith(_HEADS):
        return Complaint(f"'{ref}' cannot be pushed", "push a branch, or a tag")
    return None


def read_target(ref: str, live: Collection[str]) -> tuple[str, str] | None:
    """Return the branch and the topic of `refs/for/BRANCH/TOPIC`; None for another ref."""
    rest = ref.removeprefix(_FOR)
    for branch in sorted(live, key=len, reverse=True):
        if ref.startswith(_FOR) and f"{rest}/".startswith(f"{branch}/"):
            return branch, rest[len(branch) + 1 :]
    return None


def _find_tag(tag: str, rights: Rights) -> Complaint | None:
    """Return the reason why a tag is refused: git prefers a tag to a branch of the same name."""
    if not rights.may_tag:
        return Complaint(
            "you may not push a tag: this repository holds other projects, too",
            "ask someone who can push to all of them",
        )
    if _ABOVE.fullmatch(f"{_TAGS}{tag}"):
        return Complaint(
            f"tag '{tag}' cannot be pushed: tags below it name what went live",
            "give it another name",
        )
    if tag == "HEAD" or any(f"/{tag}".endswith(f"/{branch}") for branch in rights.live):
        return Complaint(
            f"tag '{tag}' cannot be pushed: git would take it for a branch that is served",
            "give it another name",
        )
    return None


def _find_proposed(ref: str, rights: Rights) -> Complaint | None:
    found = read_target(ref, {rights.proposed})
    if found is not None:
        is_long = len(found[1]) > _LONGEST_TOPIC
        return Complaint(f"a topic may have at most {_LONGEST_TOPIC} letters") if is_long else None
    return Complaint(
        f"'{ref}' is not the branch that this project is served from",
        f"push to {_FOR}{rights.proposed}/TOPIC",
    )


def _find_live(update: Update, branch: str, rights: Rights) -> Complaint | None:
    if not update.new:
        return Complaint(f"branch '{branch}' is live and cannot be deleted")
    if branch in rights.reviewed:
        return Complaint(
            f"branch '{branch}' only accepts changes through proposals ('review' in project.yaml)",
            f"propose it: git push origin HEAD:{_FOR}{branch}/TOPIC",
        )
    if not rights.may_publish:
        return Complaint(
            f"you may not push to branch '{branch}': the role required is 'maintainer'",
            f"propose it: git push origin HEAD:{_FOR}{branch}/TOPIC",
        )
    return None


COMPLAINT_OF_CHANGES: Final = Complaint(
    "the server's working folder has changes of this branch that are not committed",
    "commit or stash them there, then push again",
)


def complain_of_size(sizes: PushSize) -> Complaint | None:
    """Return the limit that the objects of a push exceed, unpacked; None if none."""
    if sizes.count > MOST_OBJECTS:
        found = f"{sizes.count:,} objects, at most {MOST_OBJECTS:,} are taken"
        return Complaint(f"this push has {found}", "push it in parts")
    if sizes.largest > LARGEST_OBJECT_BYTES:
        found = f"{sizes.largest:,} bytes, at most {LARGEST_OBJECT_BYTES:,} are taken"
        return Complaint(f"an object of this push has {found}", "keep large files elsewhere")
    if sizes.total > MOST_OBJECT_BYTES:
        found = f"{sizes.total:,} bytes unpacked, at most {MOST_OBJECT_BYTES:,} are taken"
        return Complaint(f"this push has {found}", "push it in parts")
    return None


def complain_of_rewriting(update: Update) -> Complaint:
    """Return the refusal of a push that rewrites a live branch."""
    return Complaint(
        f"branch '{update.branch}' only grows: {update.new[:_SHOWN]} does not follow"
        f" {update.old[:_SHOWN]}",
        "'git revert' undoes a commit; 'git pull' fetches the commits of others",
    )
