"""What a branch is called in an address, and the key that its tokens are made with."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Container, Iterable
from pathlib import Path
from typing import Final

from bbops.source.git.proposals import PREVIEW
from bbops_server.data_plane.drafts.keys import derive_key
from bbops_server.process.host.files import keep_key

MOST_LETTERS: Final = 40
_MARK_LETTERS = 12
"""Enough that nobody finds a second branch with the mark of another one."""
_MARKED = re.compile(rf"(?:.*-)?[0-9a-f]{{{_MARK_LETTERS}}}").fullmatch
_MOST_OF_LABEL = 63
"""Letters between two dots of a host: RFC 1035 section 2.3.4."""
_KEY_BYTES = 32


def choose(branches: Iterable[str], used: Container[str], most: int) -> list[str]:
    """Return which branches have drafts, at most so many.

    Those of proposals come first, then those in use: nobody puts them out by pushing branches.

    Args:
        branches: the one committed to last first.
        used: those whose drafts are awake.
        most: how many drafts there may be.
    """
    return sorted(branches, key=lambda one: (not one.startswith(PREVIEW), one not in used))[:most]


def slug_of(branch: str) -> str:
    """Return what stands in a draft's address: small letters, digits and hyphens.

    A branch that is no such word keeps what is, and gets a mark; so does one that ends like a mark,
    or it could be named after another branch's address. No two branches share one.
    """
    words = re.sub(r"[^a-z0-9]+", "-", branch.lower()).strip("-")[:MOST_LETTERS].strip("-")
    if words == branch and not _MARKED(words):
        return words
    mark = hashlib.sha256(branch.encode(errors="surrogateescape")).hexdigest()[:_MARK_LETTERS]
    return f"{words or 'draft'}-{mark}"


def host_label(slug: str, project: str) -> str:
    """Return what stands for `*` in the host of a draft; `project` where a server has several.

    No slug holds two hyphens in a row, so no two drafts share one.
    """
    label = f"{slug}--{project}" if project else slug
    if len(label) <= _MOST_OF_LABEL:
        return label
    mark = hashlib.sha256(label.encode()).hexdigest()[:_MARK_LETTERS]
    return f"{label[: _MOST_OF_LABEL - _MARK_LETTERS - 1].rstrip('-')}-{mark}"


def draft_name(project: str, slug: str) -> str:
    """Return how the server's processes call a draft; no project has such a name."""
    return f"{project}/~drafts/{slug}"


def key_of(state: Path, name: str, branch: str) -> bytes:
    """Return the key of a draft: of the one key of all drafts, in the server's state folder.

    Raises:
        ServerError: that cannot be read or made.
    """
    key = keep_key(state / "drafts.key", lambda: secrets.token_bytes(_KEY_BYTES))
    return derive_key(key, name, branch)
