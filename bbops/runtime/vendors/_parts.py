"""Parts of requests to vendors, and paths of localStorage."""

from __future__ import annotations

import unicodedata
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar
from urllib.parse import quote

from bbops.runtime.values.failures import FlowError

MOST_SEGMENT = 200
_MOST_RECIPIENTS: Final = 1_000
R = TypeVar("R")


def bearer(token: str) -> dict[str, str]:
    """Return the header of a token."""
    return {"authorization": f"Bearer {token}"}


def basic(name: str, secret: str) -> dict[str, str]:
    """Return the header of a name and its password."""
    return {"authorization": "Basic " + b64encode(f"{name}:{secret}".encode()).decode()}


def recipients(to: Any, read: Callable[[str], R]) -> list[R]:
    """Return the recipients of a mail; an address that is named twice is one recipient.

    Raises:
        FlowError: `to` is not an address or a list of them, or there are too many.
    """
    texts = [to] if isinstance(to, str) else to
    if not all(isinstance(text, str) for text in texts):
        raise FlowError("'to' must be an address, or a list of them")
    found: dict[str, R] = {}
    for text in texts:
        found.setdefault(text.lower(), read(text))
    if not 1 <= len(found) <= _MOST_RECIPIENTS:
        raise FlowError(f"'to' must have 1 to {_MOST_RECIPIENTS:,} addresses, got {len(found):,}")
    return [*found.values()]


def segment(value: Any, what: str) -> str:
    """Return one part of a path, in which nothing can reach another one.

    Args:
        value: a text or number.
        what: the parameter, for the message.

    Raises:
        FlowError: it is empty, `.` or `..`, or longer than any name.
    """
    text = str(value)
    if not text or text in {".", ".."} or len(text) > MOST_SEGMENT:
        raise FlowError(
            f"'{what}' must have 1 to {MOST_SEGMENT} characters, and not be '.' or '..'"
        )
    return quote(text, safe="")


def pick(given: Mapping[str, Any], *names: str, **renamed: str) -> dict[str, Any]:
    """Return the parameters that are given, of these names.

    Args:
        given: parameters by name.
        names: those that the vendor calls the same.
        renamed: the vendor's names of others.
    """
    wanted = {name: name for name in names} | renamed
    return {theirs: given[ours] for ours, theirs in wanted.items() if given.get(ours) is not None}


def escape_chat(text: str) -> str:
    """Return a text that is one in a chat's markup: no link, and it calls nobody.

    Source: https://docs.slack.dev/messaging/formatting-message-text, "Escaping text".
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def text_at(found: Any, *path: str | int) -> str | None:
    """Return a text inside of JSON; None where there is none."""
    for part in path:
        if isinstance(part, int):
            found = found[part] if isinstance(found, list) and len(found) > part else None
        else:
            found = found.get(part) if isinstance(found, dict) else None
    return found if isinstance(found, str) and found else None


def with_options(ours: Mapping[str, Any], options: Any) -> dict[str, Any]:
    """Return a body with other parameters of the vendor's, which may not replace ours.

    Raises:
        FlowError: one of them would.
    """
    options = options or {}
    taken = sorted(ours.keys() & options.keys())
    if taken:
        raise FlowError(f"'options' may not hold '{taken[0]}': it is a parameter of the step")
    return {**ours, **options}


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
