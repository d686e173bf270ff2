"""Pages as they are without their islands, for tests that reject scripts in texts of users."""

from __future__ import annotations

import re
from typing import Final

_TAG: Final = re.compile(
    r'<script type="module" src="/built/[\w.-]+" integrity="sha384-[\w+/=]+"></script>'
)


def without_islands(page: str) -> str:
    """Return a page without the script tags of the build; any other script stays."""
    return _TAG.sub("", page)
