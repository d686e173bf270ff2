"""The keys of `review.signed`: without them, no commit could follow."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.base.diagnostics import Diagnostic
from bbops.language.project import Project
from bbops.source.tree import Tree


def check_signers(project: Project, tree: Tree) -> Iterator[Diagnostic]:
    """Yield an error for each place of keys that does not exist."""
    signed = project.settings.model.review.signed
    if signed is None:
        return
    paths = [entry.path for entry in tree.entries() if entry.kind == "file"]
    if signed.signers is not None and signed.signers not in paths:
        yield Diagnostic(
            project.settings.place("review", "signed", "signers"), "signers-missing",
            f"there is no file '{signed.signers}'",
            "commit it: one line for each key, as 'ada@example.com ssh-ed25519 AAAA…'",
        )  # fmt: skip
    folder = f"{signed.keys}/"
    if signed.keys is not None and not any(_is_key(path, folder) for path in paths):
        yield Diagnostic(
            project.settings.place("review", "signed", "keys"), "signers-missing",
            f"there is no file '{folder}*.asc'",
            "commit public keys, as 'gpg --armor --export' prints them",
        )  # fmt: skip


def _is_key(path: str, folder: str) -> bool:
    return path.startswith(folder) and path.endswith(".asc")
