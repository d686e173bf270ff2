"""Run git: the only file that imports GitPython, which is used as a way to run commands.

Nothing is ever checked out, so no hook, filter, link or file name of a repository can act on this
machine. Every command has a deadline and a scrubbed environment.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, NamedTuple

from bbops.errors import GitError
from bbops.git.place import Place, Stamp, find_repository, stamp_branch
from bbops.names import BlobId, FilePath
from bbops.tree import Entry, is_safe

# GitPython refuses to be imported where git is missing; we have better words for that.
os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")

from git import cmd as git_command
from git.exc import GitCommandNotFound

OLDEST_GIT = (2, 38)
TIMEOUT_SECONDS = 60.0
_INSTALL = "install git 2.38 or newer: https://git-scm.com/downloads"
_KINDS = {b"100644": "file", b"100755": "file", b"120000": "symlink", b"160000": "submodule"}
_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?").fullmatch
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
_KEPT = re.compile(r"GIT_(AUTHOR|COMMITTER)_|GIT_CONFIG_GLOBAL$|GIT_EXEC_PATH$|GIT_PYTHON_")
_SETTINGS = {
    "protocol.allow": "never",
    "protocol.file.allow": "always",
    "core.fsmonitor": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
_FIXED = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_EDITOR": "true",
    "GIT_PAGER": "cat",
}


class _Answer(NamedTuple):
    status: int
    output: bytes
    complaint: str


class Store:
    """One repository, read by commit and blob id. To be used by ONE thread only."""

    def __init__(self, place: Place) -> None:
        self._place = place

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

    def close(self) -> None:
        """Let go of the repository. No git process outlives the call that started it."""

    def resolve(self, branch: str) -> str | None:
        """Return the full id of a branch's commit, None when there is no such branch."""
        ref = f"refs/heads/{branch}"
        listed = self._ask("for-each-ref", "--format=%(objectname) %(refname)", "--", ref)
        for line in listed.decode(errors="replace").splitlines():
            commit, _, name = line.partition(" ")
            if name == ref:
                return commit
        return None

    def ref_stamp(self, branch: str) -> Stamp:
        """Return a value that changes when the branch may have moved; runs no git process."""
        return stamp_branch(self._place, branch)

    def entries(self, commit: str, under: str = "") -> Sequence[Entry]:
        """Return every file of a commit, sorted by path; with `under`, of one folder of it."""
        prefix = f"{under.strip('/')}/" if under.strip("/") else ""
        paths = ("--", prefix) if prefix else ()
        listed = self._ask("ls-tree", "-r", "-z", "-l", "--full-tree", _checked(commit), *paths)
        rows = (_entry(row, len(prefix.encode())) for row in listed.split(b"\0") if row)
        return sorted(rows)

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
        answer = _run(self._place, arguments)
        if answer.status > 1:
            raise _failed(answer, arguments)
        return answer.status == 0

    def parents(self, commit: str) -> tuple[str, ...]:
        """Return the ids of a commit's parents; empty for the first commit."""
        return tuple(self._show(commit, "%P").split())

    def subject(self, commit: str) -> str:
        """Return the first line of a commit's message."""
        return self._show(commit, "%s")

    def author(self, commit: str) -> str:
        """Return the name of a commit's author, without the address."""
        return self._show(commit, "%an")

    def _show(self, commit: str, form: str) -> str:
        options = ("-1", "--no-show-signature", "--encoding=UTF-8", f"--format={form}")
        return self._ask("log", *options, _checked(commit)).decode(errors="replace").rstrip("\n")

    def _ask(self, *arguments: str, lines: Sequence[str] = ()) -> bytes:
        answer = _run(self._place, arguments, lines)
        if answer.status:
            raise _failed(answer, arguments)
        return answer.output


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
    _demand(None, "init", "--quiet", "--object-format=sha1", "-b", "main", str(path.absolute()))
    _demand(place, "add", "--all", "--force", work_tree=path)
    return _commit(place, path, message)


def commit(path: Path, message: str) -> str:
    """Commit everything that changed in a work tree; return the commit's id.

    Raises:
        GitError: nothing changed, or a hook of the repository said no.
    """
    require_git()
    place = find_repository(path)
    _demand(place, "add", "--all", work_tree=path)
    return _commit(place, path, message)


@lru_cache(maxsize=1)
def require_git() -> None:
    """Check once that git is here and not too old.

    Raises:
        GitError: with the way to get one.
    """
    answer = _run(None, ("version",))
    found = re.search(rb"(\d+)\.(\d+)", answer.output)
    if answer.status or found is None:
        raise GitError("git is not installed", hint=_INSTALL)
    if (int(found[1]), int(found[2])) < OLDEST_GIT:
        version = found[0].decode()
        raise GitError(f"git {version} is too old, expected 2.38 or newer", hint=_INSTALL)


def _require_empty(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
        first = next(path.iterdir(), None)
    except OSError as error:
        raise GitError(f"cannot use folder '{path}': {error.strerror}") from None
    if first is not None:
        what = "is a git repository already" if (path / ".git").exists() else "is not empty"
        raise GitError(f"folder '{path}' {what}", hint="name a new or an empty folder")


def _write(root: Path, name: str, data: bytes) -> None:
    if not is_safe(name):
        raise GitError(f"'{name}' cannot be the path of a file in a repository")
    target = root / name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    except OSError as error:
        raise GitError(f"cannot write '{target}': {error.strerror}") from None


def _commit(place: Place, work_tree: Path, message: str) -> str:
    options = ("--quiet", "--no-gpg-sign", f"--message={message}")
    arguments = (*_identity(place), "commit", *options)
    answer = _run(place, arguments, work_tree=work_tree)
    if answer.status == 1 and b"nothing to commit" in answer.output:
        raise GitError(f"nothing has changed in '{work_tree}'")
    if answer.status:
        raise _failed(answer, ("commit",))
    return _demand(place, "rev-parse", "--verify", "HEAD").decode().strip()


def _identity(place: Place) -> Sequence[str]:
    """Return options that name bbops as the author where the user has set no name."""
    for who in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
        if _run(place, ("-c", "user.useConfigOnly=true", "var", who)).status:
            return ("-c", "user.name=bbops", "-c", "user.email=bbops@localhost")
    return ()


def _demand(place: Place | None, *arguments: str, work_tree: Path | None = None) -> bytes:
    answer = _run(place, arguments, work_tree=work_tree)
    if answer.status:
        raise _failed(answer, arguments)
    return answer.output


def _run(
    place: Place | None,
    arguments: Sequence[str],
    lines: Sequence[str] = (),
    *,
    work_tree: Path | None = None,
) -> _Answer:
    """Run git to its end. `lines` are its input, from a file: a pipe could fill and block."""
    own = _environment(place, work_tree)
    command = [*_without_foreign(own), "git", *arguments]
    folder = work_tree or (place.git_dir if place else None)
    with tempfile.TemporaryFile() as given:
        given.write("".join(f"{line}\n" for line in lines).encode())
        given.seek(0)
        return _execute(command, folder, own, given if lines else None)


def _execute(
    command: Sequence[str], folder: Path | None, own: Mapping[str, str], given: IO[bytes] | None
) -> _Answer:
    runner: Any = git_command.Git(None if folder is None else str(folder))
    try:
        status, output, complaint = runner.execute(
            command,
            istream=given,
            env=own,
            with_extended_output=True,
            with_exceptions=False,
            stdout_as_string=False,
            strip_newline_in_stdout=False,
            kill_after_timeout=None if sys.platform == "win32" else TIMEOUT_SECONDS,
        )
    except GitCommandNotFound:
        raise GitError("git is not installed", hint=_INSTALL) from None
    return _Answer(status, output, complaint)


def _environment(place: Place | None, work_tree: Path | None) -> dict[str, str]:
    settings = list(_SETTINGS.items())
    values = dict(_FIXED)
    if place is not None:
        values["GIT_DIR"] = str(place.git_dir)
        settings += [("safe.directory", str(one)) for one in (place.git_dir, place.common_dir)]
    if work_tree is not None:
        values["GIT_WORK_TREE"] = str(work_tree.absolute())
        settings.append(("safe.directory", values["GIT_WORK_TREE"]))
    values["GIT_CONFIG_COUNT"] = str(len(settings))
    for number, (key, value) in enumerate(settings):
        values[f"GIT_CONFIG_KEY_{number}"] = key
        values[f"GIT_CONFIG_VALUE_{number}"] = value
    return values


def _without_foreign(own: Mapping[str, str]) -> list[str]:
    """Return a command prefix that drops what a surrounding git, a hook say, has set for itself.

    GitPython always passes this process's environment on and cannot remove anything from it.
    """
    if sys.platform == "win32":
        return []
    foreign = (name for name in os.environ if name.startswith("GIT_") and name not in own)
    names = [name for name in foreign if not _KEPT.match(name)]
    return ["/usr/bin/env", *(part for name in names for part in ("-u", name))] if names else []


def _failed(answer: _Answer, arguments: Sequence[str]) -> GitError:
    verb = next((word for word in arguments if not word.startswith("-") and "=" not in word), "")
    if answer.status < 0:
        return GitError(f"git {verb} did not end within {TIMEOUT_SECONDS:g} seconds")
    lines = [line for line in answer.complaint.splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith(("fatal:", "error:"))] or lines
    words = fatal[0].partition(": ")[2] or fatal[0] if fatal else f"status {answer.status}"
    return GitError(f"git {verb} failed: {_CREDENTIALS.sub('', words)}")


def _checked(commit_id: str) -> str:
    if not _ID(commit_id):
        raise GitError(f"'{commit_id}' is no commit id, expected 40 hexadecimal digits")
    return commit_id


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
