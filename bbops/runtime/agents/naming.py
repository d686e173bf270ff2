"""The names of tools as vendors take them."""

from __future__ import annotations

import hashlib
from typing import Final

MOST_CHARACTERS: Final = 64
_DIGEST: Final = 8


def tool_name(function: str) -> str:
    """Return the name that the model sees of a function: letters, digits, `_` and `-`, at most 64.

    A longer one is cut, and ends with a digest.
    """
    name = function.replace("/", "__")
    if len(name) <= MOST_CHARACTERS:
        return name
    digest = hashlib.sha256(function.encode()).hexdigest()[:_DIGEST]
    return f"{name[: MOST_CHARACTERS - _DIGEST - 1]}_{digest}"
