"""Say where a draft is to be seen."""

from __future__ import annotations

import re
from typing import Final

_OTHER: Final = re.compile(r"[^a-z0-9]+")


def preview_line(name: str, branch: str) -> str:
    """Return what whoever pushed a draft of project `name` is told about seeing it."""
    if not _OTHER.sub("-", branch.lower()).strip("-"):
        return f"draft '{branch}' has no letter a-z or digit in its name, which a preview needs"
    return f"draft '{branch}' of '{name}' is kept; what is live has not changed"
