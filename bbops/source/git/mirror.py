"""Keep a bare copy of one branch of a repository elsewhere.

Whoever keeps the original may send anything at any speed: each command is bounded, what comes is
checked by git itself, and of all refs only the branch is taken, the versions of its project, and
the frontends that were published beside it. The copy holds nothing that cannot be fetched again.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from bbops.base.errors import GitError
from bbops.source.git.address import Address, is_branch, require_branch
from bbops.source.git.command import failure, run
from bbops.source.git.environment import Limits
from bbops.source.git.numbered_tags import FrontendTags, Taken
from bbops.source.git.place import Place, frontend_scope
from bbops.source.git.writing import NOTHING

ASK_SECONDS = 30.0
FETCH_SECONDS = 1800.0
QUIET_SECONDS = 60.0
"""A fetch shows its progress: one that shows none for so long has ended."""

MAX_FILE_BYTES = 2 << 30
MAX_MEMORY_BYTES = 4 << 30
MAX_LISTED_BYTES = 16 << 20
"""Of names of refs: a hundred thousand frontends."""

MEMORY_SETTINGS = {
    "core.bigFileThreshold": "32m", "pack.threads": "1", "pack.windowMemory": "64m",
    "gc.autoDetach": "false",
}  # fmt: skip
_SETTINGS = {
    **MEMORY_SETTINGS,
    "core.hooksPath": os.devnull,
    "transfer.fsckObjects": "true",
    "fetch.recurseSubmodules": "false",
    "http.lowSpeedLimit": "100",
    "http.lowSpeedTime": "30",
}
_LEFT_BEHIND = ("*.lock", "refs/**/*.lock", "objects/pack/tmp_*", "objects/??/tmp_obj_*")
_DISK = ("No space left on device", "Read-only file system", "File too large", "quota exceeded")
_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?").fullmatch


@dataclass(frozen=True, slots=True)
class Looked:
    """What a look has found: the branch's newest commit, None without one, and frontends."""

    commit: str | None
    frontends: Taken


class Mirror:
    """A bare repository at `folder` that follows `address`. To be used by ONE thread only."""

    def __init__(self, folder: Path, address: Address, *, borrows: Path | None = None) -> None:
        """Args: `borrows`: a repository whose objects this one need not fetch again."""
        self._address = address
        self.authorization = ""
        """The HTTP header that authorizes this server; empty for git's own configuration."""
        self._folder, self._borrows = folder, borrows
        self._place = Place(folder, folder, is_bare=True)
        self._is_ready = False
        self._frontends: dict[str, FrontendTags] = {}

    def update(
        self, branch: str, project: str | None = None, *, versions: Sequence[str] = (),
        has_own_frontends: bool = False,
    ) -> Looked:  # fmt: skip
        """Fetch a branch if it has moved, and what is new of a project's frontends.

        A branch that is gone over there stays here: its commits are still to be compared with.

        Args:
            branch: its name.
            project: the folder whose frontends are taken; empty for the whole repository, None
                for no tag at all.
            versions: patterns of refs, which a mirror that is new takes.
            has_own_frontends: those of a mirror that is not new stay as they are.

        Raises:
            GitError: the repository is not reached, or what it sends is not taken.
        """
        ref = f"refs/heads/{require_branch(branch)}"
        self._prepare()
        held = self._held(ref)
        new = versions if held is None else ()
        if project is None or (project and not is_branch(project)):  # no tag can name it
            return Looked(self._follow(ref, held, self._ask(ref).get(ref), new), Taken())
        frontends = self._find_frontends(project)
        takes = held is None or not has_own_frontends
        there = self._ask(ref, *([frontends.pattern] if takes else ()))
        return Looked(self._follow(ref, held, there.get(ref), new), frontends.take(there))

    def _find_frontends(self, project: str) -> FrontendTags:
        scope = frontend_scope(project)
        return self._frontends.setdefault(scope, FrontendTags(self._place, scope, self._fetch))

    def _follow(
        self, ref: str, held: str | None, newest: str | None, versions: Sequence[str]
    ) -> str | None:
        if newest is None or newest == held:
            return newest
        self._fetch(f"+{ref}:{ref}")
        if versions:  # ours go on from those that there are
            self._fetch(*(f"+{one}:{one}" for one in versions))
        self._tidy()
        return self._held(ref)

    def push_tag(self, name: str) -> None:
        """Push a tag of ours to the original. Raises as `update`, also where it takes none."""
        self._prepare()
        ref = f"refs/tags/{name}"
        options = ("--quiet", "--no-verify", "--no-follow-tags")
        arguments = ("push", *options, "--", self._address.url, f"{ref}:{ref}")
        self._online(arguments, Limits(ASK_SECONDS, memory_bytes=MAX_MEMORY_BYTES))

    def fetch_ref(self, ref: str) -> str:
        """Fetch the objects of a ref that the mirror does not keep; return its commit.

        Empty if the repository does not have the ref. Raises as `update`.
        """
        self._prepare()
        commit = self._ask(ref).get(ref, "")
        if commit and run(self._place, ("cat-file", "-e", f"{commit}^{{commit}}")).status:
            self._fetch(ref)
        return commit

    def push_branch(self, branch: str, commit: str, expected: str) -> None:
        """Push a commit of ours to a branch of the original.

        Args:
            branch: its name.
            commit: the full id.
            expected: the commit that the branch has there; empty for a new branch.

        Raises:
            GitError: as `update`, or the branch has another commit by now. The branch here goes
                back to `expected`.
        """
        self._prepare()
        ref = f"refs/heads/{require_branch(branch)}"
        options = ("--quiet", "--no-verify", f"--force-with-lease={ref}:{expected}")
        arguments = ("push", *options, "--", self._address.url, f"{commit}:{ref}")
        try:
            self._online(arguments, Limits(ASK_SECONDS, memory_bytes=MAX_MEMORY_BYTES))
        except GitError:
            old = expected or NOTHING
            run(self._place, ("update-ref", "--stdin"), [f"update {ref} {old} {commit}"])
            raise

    def take_branch(self, branch: str) -> str | None:
        """Fetch a branch, or remove ours if the original has none; return its commit.

        Raises:
            GitError: as `update`.
        """
        self._prepare()
        ref = f"refs/heads/{require_branch(branch)}"
        newest = self._ask(ref).get(ref)
        if newest is None:
            run(self._place, ("update-ref", "--stdin"), [f"delete {ref}"])
            return None
        return self._follow(ref, self._held(ref), newest, ())

    def branches(self) -> dict[str, str]:
        """Return every branch over there with its newest commit. Raises as `update`."""
        found = self._ask("refs/heads/*")
        return {ref.removeprefix("refs/heads/"): commit for ref, commit in found.items()}

    def _prepare(self) -> None:
        if self._is_ready and (self._folder / "HEAD").is_file():
            return
        try:
            if (self._folder / "HEAD").is_file():
                self._clear()
            else:
                self._make()
        except OSError as error:
            reason = (error.strerror or "no reason given").lower()
            raise GitError(f"cannot write the mirror '{self._folder}': {reason}") from None
        self._is_ready = True

    def _make(self) -> None:
        """Make it aside first, so that there is never a half of it."""
        self._folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(dir=self._folder.parent, prefix=".mirror.") as aside:
            path = Path(aside) / "mirror"
            arguments = ("init", "--quiet", "--bare", "--template=", "--object-format=sha1")
            answer = run(None, (*arguments, str(path)))
            if answer.status or answer.ended:
                raise failure(answer, arguments)
            if self._borrows is not None:
                alternates = path / "objects" / "info" / "alternates"
                alternates.parent.mkdir(exist_ok=True)
                alternates.write_text(f"{self._borrows.absolute() / 'objects'}\n")
            shutil.rmtree(self._folder, ignore_errors=True)
            path.rename(self._folder)

    def _clear(self) -> None:
        """Remove what a git that was killed has left; no other one works here now."""
        for pattern in _LEFT_BEHIND:
            for path in self._folder.glob(pattern):
                with suppress(FileNotFoundError):
                    path.unlink()

    def _ask(self, *patterns: str) -> dict[str, str]:
        """Return the refs over there that patterns name, each with its id."""
        arguments = ("ls-remote", "--quiet", "--refs", "--", self._address.url, *patterns)
        limits = Limits(ASK_SECONDS, output_bytes=MAX_LISTED_BYTES, memory_bytes=MAX_MEMORY_BYTES)
        lines = self._online(arguments, limits).decode(errors="replace").split("\n")
        rows = (line.partition("\t") for line in lines)
        return {ref: commit for commit, _, ref in rows if _ID(commit)}

    def _held(self, ref: str) -> str | None:
        answer = run(self._place, ("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}"))
        if answer.ended:
            raise failure(answer, ("rev-parse",))
        return answer.output.decode().strip() or None

    def _fetch(self, *what: str, limits: Limits | None = None) -> None:
        options = (
            "--progress", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules",
            "--no-auto-maintenance", "--no-show-forced-updates", "--update-shallow",
        )  # fmt: skip
        arguments = ("fetch", *options, "--", self._address.url, *what)
        usual = Limits(
            FETCH_SECONDS,
            QUIET_SECONDS,
            file_bytes=MAX_FILE_BYTES,
            memory_bytes=MAX_MEMORY_BYTES,
        )
        self._online(arguments, limits or usual)

    def _tidy(self) -> None:
        """Pack what many small fetches have left; a failure costs only space."""
        run(
            self._place,
            ("gc", "--auto", "--quiet"),
            settings={**MEMORY_SETTINGS, "gc.auto": "2000", "core.hooksPath": os.devnull},
            limits=Limits(FETCH_SECONDS, memory_bytes=MAX_MEMORY_BYTES),
        )

    def _authorize(self) -> dict[str, str]:
        """Return git's setting of the header, for the host of the address alone.

        Settings are variables of the environment, so the header is in no list of processes.
        """
        if not self.authorization or self._address.scheme not in {"http", "https"}:
            return {}
        parts = urlsplit(self._address.url)
        host = parts.netloc.rpartition("@")[2]
        return {f"http.{parts.scheme}://{host}/.extraHeader": self.authorization}

    def _online(self, arguments: tuple[str, ...], limits: Limits) -> bytes:
        scheme, settings = self._address.scheme, _SETTINGS | self._authorize()
        answer = run(self._place, arguments, scheme=scheme, settings=settings, limits=limits)
        if answer.status or answer.ended:
            error = failure(answer, arguments, hint=self._hint(answer.complaint))
            raise GitError(f"{self._address.shown}: {error.message}", hint=error.hint)
        return answer.output

    def _hint(self, complaint: str) -> str:
        if any(words in complaint for words in _DISK):
            return f"the mirror '{self._folder}' needs a writable disk with free space"
        if "transport '" in complaint and "not allowed" in complaint:
            return "git's configuration redirects it (url.….insteadOf): serve that address instead"
        return (
            f"'git ls-remote {self._address.shown}' must work for the user who runs the server,"
            " with no terminal: credentials come from git's helpers or an ssh agent"
        )
