"""Fetch one commit of a repository elsewhere, and say who has signed it."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bbops.base.errors import GitError
from bbops.source.git.address import Address
from bbops.source.git.command import failure, run
from bbops.source.git.environment import Limits
from bbops.source.git.place import Place
from bbops.source.git.store import Store, require_git

FETCH_SECONDS: Final = 120.0
QUIET_SECONDS: Final = 30.0
MOST_FILE_BYTES: Final = 200 << 20
MOST_MEMORY_BYTES: Final = 2 << 30
_ID: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?").fullmatch
_SIGNED: Final = re.compile(r'^Good "git" signature for (.{1,200}) with ', re.MULTILINE)
_SETTINGS: Final = {
    "core.hooksPath": os.devnull, "transfer.fsckObjects": "true",
    "fetch.recurseSubmodules": "false", "pack.threads": "1",
}  # fmt: skip


@contextmanager
def fetched(address: Address, commit: str) -> Iterator[Store]:
    """Give a repository that holds one commit and no history; it is gone afterwards.

    Raises:
        GitError: it is no id of a commit, or the repository does not give it.
    """
    require_git()
    if not _ID(commit):
        raise GitError(
            f"'{commit[:80]}' is not the whole id of a commit", hint="not a branch or tag"
        )
    with tempfile.TemporaryDirectory(prefix="bbops-addon.") as folder:
        path = Path(folder) / "one"
        algorithm = "sha1" if len(commit) == 40 else "sha256"
        begin = ("init", "--quiet", "--bare", "--template=", f"--object-format={algorithm}")
        answer = run(None, (*begin, str(path)))
        if answer.status or answer.ended:
            raise failure(answer, begin)
        place = Place(path, path, is_bare=True)
        options = (
            "--progress",
            "--depth=1",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
        )
        arguments = ("fetch", *options, "--", address.url, f"{commit}:refs/heads/one")
        limits = Limits(
            FETCH_SECONDS, QUIET_SECONDS, file_bytes=MOST_FILE_BYTES,
            memory_bytes=MOST_MEMORY_BYTES,
        )  # fmt: skip
        answer = run(place, arguments, scheme=address.scheme, settings=_SETTINGS, limits=limits)
        if answer.status or answer.ended:
            error = failure(answer, arguments)
            raise GitError(f"{address.shown}: {error.message}", hint=error.hint)
        yield Store(place)


def find_signer(store: Store, commit: str, signers: Path) -> str:
    """Return who has signed a commit with an SSH key, by git's own check.

    Args:
        signers: a file of allowed signers, see ssh-keygen(1).

    Raises:
        GitError: nobody of them has signed it.
    """
    if not signers.is_file():
        raise GitError(f"there is no file '{signers}'", hint="it lists allowed signers of git")
    settings = {
        "gpg.format": "ssh", "gpg.ssh.allowedSignersFile": str(signers.absolute()),
        "gpg.ssh.program": "ssh-keygen", "gpg.minTrustLevel": "fully",
    }  # fmt: skip
    answer = run(store.place, ("verify-commit", "--raw", commit), settings=settings)
    found = _SIGNED.search(answer.complaint)
    if answer.status or answer.ended or found is None:
        message = f"nobody in '{signers.name}' has signed commit {commit[:12]}"
        raise GitError(message, hint="compare the commit with its author, or the list of signers")
    return found[1]
