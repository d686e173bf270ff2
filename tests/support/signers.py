"""Keys that sign commits: SSH keys, and OpenPGP keys in homes of their own."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

GPGCONF = shutil.which("gpgconf") or "gpgconf"  # found before a test changes the PATH


@dataclass(frozen=True)
class SshSigner:
    """An SSH key.

    Attributes:
        options: options of git by which it signs.
        line: its line in a file of allowed signers.
    """

    email: str
    options: tuple[str, ...]
    line: bytes


@dataclass(frozen=True)
class GpgKey:
    """An OpenPGP key; `public` is in ASCII armor."""

    name: str
    home: Path
    fingerprint: str
    public: bytes


def make_ssh_signer(folder: Path, email: str) -> SshSigner:
    """Make an SSH key without a passphrase."""
    path = folder / f"key-{email}"
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", email, "-f", str(path))
    kind, key = path.with_suffix(f"{path.suffix}.pub").read_text().split()[:2]
    options = ("-c", "gpg.format=ssh", "-c", f"user.signingKey={path}")
    return SshSigner(email, options, f'{email} namespaces="git" {kind} {key}\n'.encode())


@pytest.fixture
def make_gpg_key(tmp_path: Path) -> Iterator[Callable[..., GpgKey]]:
    """Make OpenPGP keys; their agents end with the test."""
    made: list[GpgKey] = []

    def make(name: str, **options: str) -> GpgKey:
        made.append(_make_gpg_key(tmp_path, name, **options))
        return made[-1]

    yield make
    for key in made:
        run(GPGCONF, "--homedir", str(key.home), "--kill", "all")


def _make_gpg_key(folder: Path, name: str, *, clock: str = "", expires: str = "never") -> GpgKey:
    """Make an OpenPGP key without a passphrase."""
    home = folder / f"gpg-{name}"
    home.mkdir(mode=0o700)
    gpg = ("gpg", "--homedir", str(home), "--batch", "--quiet")
    gpg += ("--faked-system-time", clock) if clock else ()
    user = f"{name} <{name}@example.com>"
    run(*gpg, "--passphrase", "", "--quick-generate-key", user, "ed25519", "sign", expires)
    listed = run(*gpg, "--with-colons", "--list-keys").decode().splitlines()
    fingerprint = next(line.split(":")[9] for line in listed if line.startswith("fpr:"))
    return GpgKey(name, home, fingerprint, run(*gpg, "--armor", "--export", fingerprint))


def run(*command: str) -> bytes:
    """Run a program and return its output."""
    return subprocess.run(command, capture_output=True, check=True).stdout
