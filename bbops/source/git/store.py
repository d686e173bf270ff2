"""A repository, read by commit and blob id, and written in two ways; a commit as a tree.

Nothing is ever checked out, so no hook, filter, link or file name of a repository can act on this
machine.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from bbops.base.errors import GitError
from bbops.source.git.command import INSTALL, Answer, failure, run
from bbops.source.git.environment import Limits
from bbops.source.git.place import Place, Stamp, find_repository, stamp_branch
from bbops.source.git.writing import BBOPS, Identity
from bbops.source.tree import BlobId, Entry, FilePath, is_local, is_safe

OLDEST_GIT = (2, 38)
MAX_LISTED_BYTES = 16 << 20
"""Of the names in a commit; a tree that holds itself again and again has no end."""

MAX_SIZES_BYTES = 2 << 20
"""Of a list of sizes, one a line."""

_KINDS = {b"100644": "file", b"100755": "file", b"120000": "symlink", b"160000": "submodule"}
_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?").fullmatch


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many objects there are, and how many bytes the largest and all of them have."""

    count: int
    largest: int
    total: int


class Store:
    """One repository, read by commit and blob id. To be used by ONE thread only."""

    def __init__(self, place: Place) -> None:
        self._place = place

    @property
    def place(self) -> Place:
        """Where git keeps it."""
        return self._place

    @classmethod
    def open(cls, path: Path) -> Store:
        """Open a work tree, its `.git` folder, a linked work tree or a bare repository.

        Raises:
            GitError: there is no repository at `path`, or git is missing or too old.
        """
        require_git()
        store = cls(find_repository(path))
        store._ask("rev-parse", "--git-dir")
        return store

    def beside(self, quarantine: Path) -> Store:
        """Return the same repository with the objects of a push that is not accepted yet."""
        return Store(replace(self._place, quarantine=quarantine))

    def sizes(self, quarantine: Path) -> Sizes:
        """Return how large the objects of a push are once they are unpacked; O(objects).

        Raises:
            GitError: also when they are more than some 300,000.
        """
        alone = replace(self._place, quarantine=quarantine, only_quarantine=True)
        form = "--batch-check=%(objectsize)"
        arguments = ("cat-file", "--batch-all-objects", "--unordered", form)
        answer = run(alone, arguments, limits=Limits(output_bytes=MAX_SIZES_BYTES))
        if len(answer.output) > MAX_SIZES_BYTES:
            raise GitError("the push has too many objects", hint="push it in parts")
        sizes = [int(one) for one in _demand(answer, arguments).split()]
        return Sizes(len(sizes), max(sizes, default=0), sum(sizes))

    def close(self) -> None:
        """Let go of the repository. No git process outlives the call that started it."""

    def resolve(self, branch: str) -> str | None:
        """Return the full id of a branch's commit, None when there is no such branch."""
        ref = f"refs/heads/{branch}"
        listed = self._ask("for-each-ref", "--format=%(objectname) %(refname)", "--", ref)
        for line in listed.decode(errors="replace").split("\n"):
            commit, _, name = line.partition(" ")
            if name == ref:
                return commit
        return None

    def find_commit(self, revision: str) -> str | None:
        """Return the full id of the commit that a branch, tag or id means; None for none."""
        name = f"{revision}^{{commit}}"
        answer = run(self._place, ("rev-parse", "--verify", "--quiet", "--end-of-options", name))
        found = answer.output.decode(errors="replace").strip()
        return found if answer.status == 0 and _ID(found) else None

    def branches(self) -> dict[str, str]:
        """Return every branch with its newest commit, the one committed to last first."""
        form = "--format=%(objectname) %(refname:lstrip=2)"
        listed = self._ask("for-each-ref", "--sort=-committerdate", form, "refs/heads")
        rows = (line.partition(" ") for line in listed.decode(errors="replace").split("\n"))
        return {branch: commit for commit, _, branch in rows if branch}

    def ref_stamp(self, branch: str) -> Stamp:
        """Return a value that changes when the branch may have moved; runs no git process."""
        return stamp_branch(self._place, branch)

    def entries(self, commit: str, under: str = "") -> Sequence[Entry]:
        """Return every file of a commit, sorted by path; with `under`, of one folder of it.

        Raises:
            GitError: also when the names are more than MAX_LISTED_BYTES.
        """
        prefix = f"{under.strip('/')}/" if under.strip("/") else ""
        paths = ("--", prefix) if prefix else ()
        # -t lists folders too: a tree of empty folders would print nothing and never end
        arguments = ("ls-tree", "-r", "-t", "-z", "-l", "--full-tree", _checked(commit), *paths)
        answer = run(self._place, arguments, limits=Limits(output_bytes=MAX_LISTED_BYTES))
        if len(answer.output) > MAX_LISTED_BYTES:
            raise GitError(
                f"commit '{commit[:12]}' holds too many files:"
                f" their names alone are more than {MAX_LISTED_BYTES >> 20} MiB",
                hint="serve only the project's folder with --path, or keep other files elsewhere",
            )
        rows = _demand(answer, arguments).split(b"\0")
        return _sorted([_entry(row, len(prefix.encode())) for row in rows if _is_file(row)])

    def read(self, blobs: Sequence[BlobId]) -> dict[BlobId, bytes]:
        """Return the bytes behind each id, all in one go; what is not there is left out."""
        wanted = [blob for blob in dict.fromkeys(blobs) if _ID(blob)]
        if not wanted:
            return {}
        output = self._ask("cat-file", "--batch", "--buffer", lines=wanted)
        return _parse_batch(output)

    def is_ancestor(self, old: str, new: str) -> bool:
        """Return whether the history of commit `new` contains commit `old`."""
        arguments = ("merge-base", "--is-ancestor", _checked(old), _checked(new))
        answer = run(self._place, arguments)
        if answer.status not in {0, 1} or answer.ended:
            raise failure(answer, arguments)
        return answer.status == 0

    def merge_base(self, one: str, other: str) -> str:
        """Return the best common ancestor of two commits; empty without one.

        In a shallow clone, the history may end before the common ancestor.
        """
        answer = run(self._place, ("merge-base", _checked(one), _checked(other)))
        return "" if answer.status or answer.ended else answer.output.decode().split()[0]

    @property
    def is_shallow(self) -> bool:
        """Whether the repository lacks older commits, as after `git clone --depth`."""
        return (self._place.common_dir / "shallow").exists()

    def count_between(self, old: str, new: str) -> int:
        """Return how many commits `new` has in its history that `old` has not, merges once."""
        told = self._ask(
            "rev-list", "--count", "--first-parent", _checked(new), f"^{_checked(old)}"
        )
        return int(told)

    def has_commit(self, commit: str) -> bool:
        """Return whether a commit is in the repository."""
        told = self._ask("cat-file", "--batch-check", lines=[_checked(commit)])
        return told.split()[1:2] == [b"commit"]

    def trees(self, commits: Sequence[str], under: str = "") -> dict[str, str]:
        """Return the id of each commit's tree, or of a folder in it; what has none is left out."""
        lines = [f"{_checked(one)}:{under}" for one in commits]
        told = self._ask("cat-file", "--batch-check", lines=lines).decode().splitlines()
        found = zip(commits, map(str.split, told), strict=True)
        return {commit: words[0] for commit, words in found if words[1:2] == ["tree"]}

    def parents(self, commit: str) -> tuple[str, ...]:
        """Return the ids of a commit's parents; empty for the first commit."""
        return tuple(self._show(commit, "%P").split())

    def subject(self, commit: str) -> str:
        """Return the first line of a commit's message."""
        return self._show(commit, "%s")

    def author(self, commit: str) -> str:
        """Return the name of a commit's author, without the address."""
        return self._show(commit, "%an")

    def who(self) -> Identity:
        """Return the user's own name and address, as git knows them; bbops where it knows none."""
        answer = run(self._place, ("-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT"))
        name, _, rest = answer.output.decode(errors="replace").partition(" <")
        return BBOPS if answer.status else Identity(name, rest.partition(">")[0])

    def trailer(self, commit: str, key: str) -> str:
        """Return the last value of a trailer of a commit's message; empty without one."""
        lines = self._show(commit, f"%(trailers:key={key},valueonly)").splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def _show(self, commit: str, form: str) -> str:
        options = ("-1", "--no-show-signature", "--encoding=UTF-8", f"--format={form}")
        return self._ask("log", *options, _checked(commit)).decode(errors="replace").rstrip("\n")

    def _ask(self, *arguments: str, lines: Sequence[str] = ()) -> bytes:
        return _demand(run(self._place, arguments, lines), arguments)


def init(path: Path, files: Mapping[str, bytes], *, message: str) -> str:
    """Make a repository on branch `main` with one commit of `files`; return the commit's id.

    Raises:
        GitError: the folder holds something already, or a file's path leads out of it.
    """
    require_git()
    _require_empty(path)
    for name, data in files.items():
        _write(path, name, data)
    place = Place(path.absolute() / ".git", path.absolute() / ".git")
    _do(None, "init", "--quiet", "--object-format=sha1", "-b", "main", str(path.absolute()))
    _do(place, "add", "--all", "--force", work_tree=path)
    return _commit(place, path, message)


def commit(path: Path, message: str) -> str:
    """Commit everything that changed in a work tree; return the commit's id.

    Raises:
        GitError: nothing changed, or a hook of the repository said no.
    """
    require_git()
    place = find_repository(path)
    _do(place, "add", "--all", work_tree=path)
    return _commit(place, path, message)


@lru_cache(maxsize=1)
def require_git() -> str:
    """Return git's version, once it is seen to be here and not too old.

    Raises:
        GitError: with the way to get one.
    """
    answer = run(None, ("version",))
    found = re.search(rb"(\d+)\.(\d+)", answer.output)
    if answer.ended:
        raise failure(answer, ("version",), hint="check which 'git' is on your PATH")
    if answer.status or found is None:
        raise GitError("git is not installed", hint=INSTALL)
    version = found[0].decode()
    if (int(found[1]), int(found[2])) < OLDEST_GIT:
        raise GitError(f"git {version} is too old, expected 2.38 or newer", hint=INSTALL)
    return version


def _require_empty(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
        first = next(path.iterdir(), None)
    except OSError as error:
        raise GitError(f"cannot use folder '{path}': {_reason(error)}") from None
    if first is not None:
        what = "is already a git repository" if (path / ".git").exists() else "is not empty"
        raise GitError(f"folder '{path}' {what}", hint="choose a new or an empty folder")


def _write(root: Path, name: str, data: bytes) -> None:
    if not is_safe(name):
        raise GitError(f"'{name}' cannot be the path of a file in a repository")
    target = root / name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    except OSError as error:
        raise GitError(f"cannot write '{target}': {_reason(error)}") from None


def _reason(error: OSError) -> str:
    return (error.strerror or "no reason given").lower()


def _commit(place: Place, work_tree: Path, message: str) -> str:
    options = ("--quiet", "--no-gpg-sign", f"--message={message}")
    arguments = (*_identity(place), "commit", *options)
    answer = run(place, arguments, work_tree=work_tree)
    if answer.status == 1 and b"nothing to commit" in answer.output:
        raise GitError(f"nothing has changed in '{work_tree}'")
    _demand(answer, ("commit",))
    return _do(place, "rev-parse", "--verify", "HEAD").decode().strip()


def _identity(place: Place) -> Sequence[str]:
    """Return options that name bbops as the author where the user has set no name."""
    for who in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
        if run(place, ("-c", "user.useConfigOnly=true", "var", who)).status:
            return ("-c", "user.name=bbops", "-c", "user.email=bbops@localhost")
    return ()


def _do(place: Place | None, *arguments: str, work_tree: Path | None = None) -> bytes:
    return _demand(run(place, arguments, work_tree=work_tree), arguments)


def _demand(answer: Answer, arguments: Sequence[str]) -> bytes:
    if answer.status or answer.ended:
        raise failure(answer, arguments)
    return answer.output


def _checked(commit_id: str) -> str:
    if not _ID(commit_id):
        raise GitError(f"'{commit_id}' is not a commit id, expected 40 hexadecimal digits")
    return commit_id


def _is_file(row: bytes) -> bool:
    return bool(row) and not row.startswith(b"040000 ")


def _sorted(entries: list[Entry]) -> Sequence[Entry]:
    """Return entries by path; of a path that a crafted tree has twice, none is a file."""
    times = Counter(entry.path for entry in entries)
    return sorted(
        entry if times[entry.path] == 1 else entry._replace(kind="other") for entry in entries
    )


def _entry(row: bytes, skipped: int) -> Entry:
    """Read one row of `ls-tree -l`: mode, type, id and size, a tab, the path."""
    head, _, name = row.partition(b"\t")
    mode, _, blob, size = head.split()
    path = name[skipped:].decode(errors="replace")
    kind = _KINDS.get(mode, "other") if is_safe(path) else "other"
    size_bytes = int(size) if size.isdigit() else 0
    return Entry(FilePath(path), BlobId(blob.decode()), size_bytes, kind)


def _parse_batch(output: bytes) -> dict[BlobId, bytes]:
    """Read `<id> blob <size>`, a line break, the bytes, a line break; or `<id> missing`."""
    found, at = dict[BlobId, bytes](), 0
    while at < len(output):
        end = output.index(b"\n", at)
        words = output[at:end].split()
        at = end + 1
        if len(words) == 3:
            size = int(words[2])
            if words[1] == b"blob":
                found[BlobId(words[0].decode())] = output[at : at + size]
            at += size + 1
    return found


class GitTree:
    """A commit's files below `under`, read from the repository's objects: nothing is checked out.

    Folders that belong to one machine are left out, as in a folder's tree, so both agree.
    """

    def __init__(self, store: Store, commit: str, *, branch: str = "main", under: str = "") -> None:
        algorithm = "sha1" if len(commit) == 40 else "sha256"
        self.revision = f"{branch}@{algorithm}:{commit}"
        self._store, self._commit, self._under = store, commit, under
        self._entries: Sequence[Entry] | None = None

    def entries(self) -> Sequence[Entry]:
        """Return every file, sorted by path from `under`."""
        if self._entries is None:  # a commit never changes
            listed = self._store.entries(self._commit, self._under)
            self._entries = [entry for entry in listed if not is_local(entry.path)]
        return self._entries

    def read(self, blobs: Sequence[BlobId]) -> dict[BlobId, bytes]:
        """Return the bytes behind each id; an id the repository does not hold is left out."""
        return self._store.read(blobs)
