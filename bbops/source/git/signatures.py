"""Check the signatures of commits against SSH and OpenPGP keys, and against no others.

Git verifies them with `ssh-keygen` and `gpg`. Neither reads the keys or the trust of the user who
runs the process: both get a temporary folder.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bbops.base.errors import GitError
from bbops.source.git.command import failure, run
from bbops.source.git.place import Place

IMPORT_SECONDS: Final = 20
_GPG_OPTIONS: Final = "trust-model always\nno-autostart\nno-auto-key-retrieve\n"
_KINDS: Final = {"SSH SIGNATURE": "SSH", "PGP SIGNATURE": "OpenPGP", "PGP MESSAGE": "OpenPGP"}
_ARMOR: Final = re.compile(rb"^gpgsig(?:-sha256)? -----BEGIN ([A-Z ]+)-----$", re.MULTILINE)
_STATES: Final = {
    "B": "has a bad signature", "X": "has an expired signature",
    "Y": "is signed by an expired key", "R": "is signed by a revoked key",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TrustedKeys:
    """The keys whose signatures count.

    Attributes:
        signers: a file of allowed signers, see ssh-keygen(1); None without SSH keys.
        keys: OpenPGP public keys in ASCII armor; None without a folder of them.
    """

    signers: bytes | None
    keys: tuple[bytes, ...] | None


@dataclass(frozen=True, slots=True)
class MissingSignature:
    """A commit without a signature that counts; `why` continues "commit …"."""

    commit: str
    author: str
    why: str
    hint: str = ""


def find_unsigned(
    place: Place, commits: Sequence[str], trusted: TrustedKeys
) -> Mapping[str, MissingSignature]:
    """Return the commits that no trusted key has signed, by id.

    Args:
        place: the repository.
        commits: full ids.
        trusted: the keys.

    Raises:
        GitError: the repository cannot be read, or gpg does not respond.
    """
    if not commits:
        return {}
    with _prepared(trusted) as (settings, variables, invalid):
        form = "--format=%H%x00%G?%x00%an"
        options = ("--no-walk=unsorted", "--no-show-signature", "--encoding=UTF-8", form)
        arguments = ("log", *options, *commits)
        answer = run(place, arguments, settings=settings, variables=variables)
        if answer.status or answer.ended:
            raise failure(answer, arguments)
    lines = answer.output.decode(errors="replace").split("\n")
    rows = (line.split("\0", 2) for line in lines if line)
    return {
        commit: MissingSignature(commit, author, *_explain(place, commit, state, trusted, invalid))
        for commit, state, author in rows
        if state != "G"
    }


def is_gpg_missing(trusted: TrustedKeys) -> bool:
    """Return whether OpenPGP signatures count, but cannot be checked."""
    return trusted.keys is not None and shutil.which("gpg") is None


@contextmanager
def _prepared(trusted: TrustedKeys) -> Iterator[tuple[dict[str, str], dict[str, str], int]]:
    """Provide settings and variables of git for a folder that only has the trusted keys.

    The last value is the number of OpenPGP keys that are not valid.
    """
    with tempfile.TemporaryDirectory(prefix="bbops-keys-") as folder:
        home = Path(folder)
        signers = home / "signers"
        signers.write_bytes(trusted.signers or b"")
        (home / "gpg.conf").write_text(_GPG_OPTIONS)
        program = shutil.which("gpg") if trusted.keys else None
        keys = trusted.keys if program and trusted.keys else ()
        invalid = sum(not _import(program or "", home, key) for key in keys)
        gpg = program or os.devnull
        settings = {
            "gpg.ssh.allowedSignersFile": str(signers), "gpg.ssh.program": "ssh-keygen",
            "gpg.program": gpg, "gpg.openpgp.program": gpg, "gpg.x509.program": os.devnull,
            "gpg.ssh.revocationFile": "", "gpg.minTrustLevel": "undefined",
        }  # fmt: skip
        yield settings, {"GNUPGHOME": folder}, invalid


def _import(program: str, home: Path, key: bytes) -> bool:
    """Import an OpenPGP key, and return whether it is valid."""
    command = [program, "--batch", "--quiet", "--homedir", str(home), "--import"]
    try:
        done = subprocess.run(  # noqa: S603 - fixed arguments
            command, input=key, capture_output=True, timeout=IMPORT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        raise GitError("gpg does not respond", hint="run 'gpg --version'") from None
    return done.returncode == 0


def _explain(
    place: Place, commit: str, state: str, trusted: TrustedKeys, invalid: int
) -> tuple[str, str]:
    """Return why a signature does not count, with the fix if there is a special one."""
    kind = _find_kind(place, commit)
    if not kind:
        return "has no signature", ""
    if kind not in {"SSH", "OpenPGP"}:
        return f"has a signature of another kind: {kind}", "sign with an SSH or OpenPGP key"
    if kind == "OpenPGP" and is_gpg_missing(trusted):
        return "has an OpenPGP signature, which needs gpg", "install 'gnupg' on the server"
    if (trusted.signers if kind == "SSH" else trusted.keys) is None:
        return f"has an {kind} signature, and no {kind} key counts", ""
    why = _STATES.get(state, f"is signed by an {kind} key that does not count")
    if kind == "OpenPGP" and invalid:
        return why, f"OpenPGP keys that are not valid: {invalid}; 'gpg --armor --export' prints one"
    return why, ""


def _find_kind(place: Place, commit: str) -> str:
    """Return the kind of a commit's signature; empty without one."""
    answer = run(place, ("cat-file", "commit", commit))
    header = answer.output.partition(b"\n\n")[0]
    found = _ARMOR.search(header)
    return _KINDS.get(found[1].decode(), found[1].decode().lower()) if found else ""
