"""Write a repository that others read: tags, commits and branches, each whole or not at all.

Nothing is checked out but where the branch that moves is: there the files follow it, as after a
`git merge`, and nothing moves when somebody's changes would be lost.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bbops.base.errors import GitError
from bbops.source.git.checkout import find_work_tree, has_changes, is_checked_out
from bbops.source.git.command import Answer, failure, run
from bbops.source.git.environment import Limits
from bbops.source.git.place import Place

MERGE_SECONDS = 60.0
_SETTINGS = {"core.hooksPath": os.devnull, "commit.gpgSign": "false", "tag.gpgSign": "false"}
_MERGE_LIMITS = Limits(memory_bytes=4 << 30)
_IS_TAKEN = re.compile(r"already exists|\.lock': File exists")
NOTHING = "0" * 40
"""The commit of a branch that is not there yet."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Whom a commit or tag names: bbops itself where nobody else did it."""

    name: str = "bbops"
    email: str = "bbops@localhost"

    def settings(self) -> dict[str, str]:
        """Return it as settings of git, which takes no line breaks or brackets in a name."""
        name = "".join(one for one in self.name if one.isprintable() and one not in "<>")
        email = "".join(one for one in self.email if one.isprintable() and one not in "<> ")
        return {"user.name": name.strip() or "bbops", "user.email": email or "bbops@localhost"}


BBOPS = Identity()


@dataclass(frozen=True, slots=True)
class Merged:
    """What comes of two histories: a tree, or the files that both have changed."""

    tree: str
    conflicts: tuple[str, ...] = ()


def add_tag(place: Place, name: str, commit: str, message: str) -> bool:
    """Make an annotated tag; return False, with nothing changed, when the name is taken.

    So is one that a git has locked and was killed: nobody ever unlocks it.

    Raises:
        GitError: it cannot be written.
    """
    words = ("--annotate", "--cleanup=verbatim", "--file=-", "--", name, commit)
    answer = _run(place, ("tag", *words), message.splitlines(), who=BBOPS)
    if answer.status and _IS_TAKEN.search(answer.complaint):
        return False
    _demand(answer, "tag")
    return True


def merge_trees(place: Place, ours: str, theirs: str) -> Merged:
    """Merge two commits without a work tree; bounded in time and memory.

    Raises:
        GitError: they have no history in common, or cannot be read.
    """
    options = ("--write-tree", "-z", "--name-only", "--no-messages")
    arguments = ("merge-tree", *options, ours, theirs)
    answer = run(place, arguments, settings=_SETTINGS, limits=_MERGE_LIMITS)
    if answer.status not in {0, 1} or answer.ended:
        raise failure(answer, ("merge-tree",))
    tree, *files = answer.output.decode(errors="replace").rstrip("\0").split("\0")
    return Merged(tree, tuple(dict.fromkeys(filter(None, files))))


def put_files(place: Place, commit: str, files: Mapping[str, tuple[str, str] | None]) -> str:
    """Return a tree: that of a commit with some files put in place, or removed.

    Args:
        place: the repository.
        commit: whose files the others are.
        files: path → (mode, blob id), None to remove it.
    """
    with tempfile.TemporaryDirectory(prefix="bbops-index-") as folder:
        aside = replace(place, index=Path(folder) / "index")
        _demand(_run(aside, ("read-tree", commit)), "read-tree")
        lines = [_index_line(path, one) for path, one in files.items()]
        _demand(_run(aside, ("update-index", "--index-info"), lines), "update-index")
        return _demand(_run(aside, ("write-tree",)), "write-tree")


def put_folder(place: Place, commit: str, folder: str, source: str) -> str:
    """Return a tree: that of a commit with one folder as it is in another; the whole without one.

    A folder that is missing there is gone.
    """
    if not folder:
        return _demand(_run(place, ("rev-parse", f"{source}^{{tree}}")), "rev-parse")
    with tempfile.TemporaryDirectory(prefix="bbops-index-") as temporary:
        aside = replace(place, index=Path(temporary) / "index")
        _demand(_run(aside, ("read-tree", commit)), "read-tree")
        gone = ("rm", "-r", "--cached", "--quiet", "--ignore-unmatch", "--", f"{folder}/")
        _demand(_run(aside, gone, work_tree=Path(temporary)), "rm")
        if _run(place, ("cat-file", "-e", f"{source}:{folder}")).status == 0:
            put = ("read-tree", f"--prefix={folder}/", f"{source}:{folder}")
            # it touches no file, but wants a work tree also where the repository is bare
            _demand(_run(aside, put, work_tree=Path(temporary)), "read-tree")
        return _demand(_run(aside, ("write-tree",)), "write-tree")


def write_tree(place: Place, folder: Path, paths: Sequence[str]) -> str:
    """Return a tree of files that lie in a folder, byte for byte: no filter changes any.

    Args:
        place: the repository.
        folder: where they lie.
        paths: of the files from there; without quotes and control characters.
    """
    blobs = _hash_files(place, [folder / path for path in paths])
    with tempfile.TemporaryDirectory(prefix="bbops-index-") as temporary:
        aside = replace(place, index=Path(temporary) / "index")
        lines = [
            _index_line(path, ("100644", blob)) for path, blob in zip(paths, blobs, strict=True)
        ]
        _demand(_run(aside, ("update-index", "--add", "--index-info"), lines), "update-index")
        return _demand(_run(aside, ("write-tree",)), "write-tree")


def write_blobs(place: Place, texts: Sequence[bytes]) -> list[str]:
    """Write the bytes of files that no tree holds yet; return their ids."""
    with tempfile.TemporaryDirectory(prefix="bbops-blobs-") as temporary:
        paths = [Path(temporary) / str(number) for number in range(len(texts))]
        for path, data in zip(paths, texts, strict=True):
            path.write_bytes(data)
        return _hash_files(place, paths)


def _hash_files(place: Place, paths: Sequence[Path]) -> list[str]:
    if not paths:
        return []
    arguments = ("hash-object", "-w", "--no-filters", "--stdin-paths")
    return _demand(_run(place, arguments, [str(one) for one in paths]), "hash-object").split()


def make_commit(
    place: Place, tree: str, parents: Sequence[str], message: str, who: Identity = BBOPS
) -> str:
    """Write a commit that no branch holds yet; return its id."""
    options = [part for one in parents for part in ("-p", one)]
    answer = _run(place, ("commit-tree", tree, *options, "-F", "-"), message.splitlines(), who=who)
    return _demand(answer, "commit-tree")


def move_branch(place: Place, branch: str, old: str, new: str, reason: str) -> None:
    """Move a branch from one commit to another, with the files where it is checked out.

    Args:
        place: the repository.
        branch: its name.
        old: where it must be; NOTHING for a new one.
        new: where it goes.
        reason: for the reflog.

    Raises:
        GitError: it has moved since, or files that are checked out have changes.
    """
    if old == NOTHING or not is_checked_out(place, branch):
        _point(place, branch, old, new, reason)
        return
    work_tree = find_work_tree(place)
    if _demand(_run(place, ("rev-parse", f"refs/heads/{branch}")), "rev-parse") != old:
        raise _moved(branch)
    # of a file that was written anew with the same bytes, read-tree would say that it has changed
    _run(place, ("update-index", "-q", "--refresh"), work_tree=work_tree)
    if has_changes(place):
        raise GitError(
            f"branch '{branch}' is checked out in '{work_tree}', with changes",
            hint="commit or stash them there",
        )
    _demand(_run(place, ("read-tree", "-m", "-u", old, new), work_tree=work_tree), "read-tree")
    try:
        _point(place, branch, old, new, reason)
    except GitError:
        _run(place, ("read-tree", "-m", "-u", new, "HEAD"), work_tree=work_tree)
        raise


def delete_branch(place: Place, branch: str, old: str) -> None:
    """Delete a branch that holds one commit; it lives on in what else names it.

    Raises:
        GitError: it has moved since, or its files are checked out.
    """
    if is_checked_out(place, branch):
        raise GitError(
            f"branch '{branch}' is checked out in '{find_work_tree(place)}'",
            hint="check out another one there",
        )
    answer = _run(place, ("update-ref", "-d", f"refs/heads/{branch}", old), who=BBOPS)
    if answer.status and "is at" in answer.complaint:
        raise _moved(branch)
    _demand(answer, "update-ref")


def keep_ref(place: Place, ref: str, commit: str) -> None:
    """Let a ref of our own name a commit, so that git keeps it."""
    _demand(_run(place, ("update-ref", ref, commit), who=BBOPS), "update-ref")


def _point(place: Place, branch: str, old: str, new: str, reason: str) -> None:
    words = ("update-ref", "-m", reason, f"refs/heads/{branch}", new, old)
    answer = _run(place, words, who=BBOPS)
    if answer.status and ("is at" in answer.complaint or "already exists" in answer.complaint):
        raise _moved(branch)
    _demand(answer, "update-ref")


def _moved(branch: str) -> GitError:
    return GitError(f"branch '{branch}' has moved in the meantime", hint="review it and try again")


def _index_line(path: str, put: tuple[str, str] | None) -> str:
    mode, blob = put or ("0", NOTHING)
    return f"{mode} {blob}\t{path}"


def _run(
    place: Place, arguments: Sequence[str], lines: Sequence[str] = (), *,
    work_tree: Path | None = None, who: Identity | None = None,
) -> Answer:  # fmt: skip
    settings = _SETTINGS | (who.settings() if who else {})
    return run(place, arguments, lines, work_tree=work_tree, settings=settings)


def _demand(answer: Answer, verb: str) -> str:
    if answer.status or answer.ended:
        raise failure(answer, (verb,))
    return answer.output.decode(errors="replace").strip()
