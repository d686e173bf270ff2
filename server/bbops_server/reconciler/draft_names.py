"""What a branch is called in an address."""

from __future__ import annotations

import hashlib
import re
from typing import Final

MOST_LETTERS: Final = 40
_MARK_LETTERS = 6


def slug_of(branch: str) -> str:
    """Return what stands in a draft's address: small letters, digits and hyphens.

    A branch that is no such word keeps what is, and gets a mark: no two branches share one.
    """
    words = re.sub(r"[^a-z0-9]+", "-", branch.lower()).strip("-")[:MOST_LETTERS].strip("-")
    if words == branch:
        return words
    mark = hashlib.sha256(branch.encode(errors="surrogateescape")).hexdigest()[:_MARK_LETTERS]
    return f"{words or 'draft'}-{mark}"


def draft_name(project: str, slug: str) -> str:
    """Return how the server's processes call a draft; no project has such a name."""
    return f"{project}/~drafts/{slug}"
