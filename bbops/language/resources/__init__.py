"""Kinds of resources, one per file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from bbops.base.registry import sources

_FOLDER: Final = re.compile(r'^    folder: ClassVar\[str\] = "([a-z]*)"$', re.MULTILINE)


@cache
def folders() -> Mapping[str, str]:
    """Return the folder of each kind by the kind's name; empty for the project's own.

    Reads the files without importing them: a server's parent process has no use for the models.
    """
    found = {name: _FOLDER.search(text) for name, text in sources(__name__).items()}
    return {name: folder[1] for name, folder in found.items() if folder}
