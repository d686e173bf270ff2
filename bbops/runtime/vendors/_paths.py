"""Paths of localStorage: what a text may say, and the parts that are left of it.

What lies on the disk under such a name does not matter here: the door looks at that.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any, Final

MOST_PATH_BYTES: Final = 1_000
MOST_NAME_BYTES: Final = 255
MOST_PARTS: Final = 20

_OWN: Final = ".bbops-"
_RESERVED: Final = frozenset({"..", ".gitignore", ".git"})
_FORBIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of Unicode: what controls, is not seen, or cannot be written."""


def read_path(text: Any, *, is_folder: bool = False) -> tuple[str, ...]:
    """Return the parts of a path below the base directory, in NFC.

    Args:
        text: such as `notes/1.txt`.
        is_folder: the base directory itself will do, as '' or '.'.

    Raises:
        ValueError: it leads elsewhere, or no system keeps such a name; in words, without the path.
    """
    if type(text) is not str:
        raise ValueError("a path is text")
    if len(text.encode(errors="replace")) > MOST_PATH_BYTES:
        raise ValueError(f"a path has at most {MOST_PATH_BYTES:,} bytes")
    if "\\" in text or any(unicodedata.category(one) in _FORBIDDEN for one in text):
        raise ValueError("a path has no backslash and no control character")
    if text.startswith("/") or text[1:2] == ":":
        raise ValueError("a path is relative to the base directory")
    whole = unicodedata.normalize("NFC", text)
    parts = tuple(one for one in whole.split("/") if one not in {"", "."})
    _require_parts(parts)
    if not is_folder and (not parts or whole.endswith(("/", "/."))):
        raise ValueError("a path ends with the name of a file")
    return parts


def _require_parts(parts: Sequence[str]) -> None:
    if len(parts) > MOST_PARTS:
        raise ValueError(f"a path has at most {MOST_PARTS} parts")
    for one in parts:
        if one.lower() in _RESERVED or one.lower().startswith(_OWN):
            raise ValueError("a path has no part '..', '.git', '.gitignore' or '.bbops-…'")
        if len(one.encode()) > MOST_NAME_BYTES:
            raise ValueError(f"a part of a path has at most {MOST_NAME_BYTES} bytes")


def read_base(text: Any) -> tuple[str, ...]:
    """Return the parts of a base directory.

    Raises:
        ValueError: it is none, in words.
    """
    parts = read_path(text, is_folder=True)
    if not parts or parts[0].startswith("."):
        raise ValueError("a base directory is a folder of its own, such as ./storage")
    return parts
