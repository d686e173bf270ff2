"""Give single keys of a resource a value, as text of YAML."""

from __future__ import annotations

from typing import Any

from bbops.base.errors import BbopsError
from bbops.edit.authoring.changing import Change
from bbops.edit.authoring.naming import Name
from bbops.source.yaml.document import load
from bbops.source.yaml.edit import CannotEdit, remove_key, set_value
from bbops.source.yaml.quotes import may_be_plain, quoted


def set_key(change: Change, name: Name, key: str, text: str) -> None:
    """Set a key such as `docsVisibility` or `cors.maxAge`.

    Args:
        text: YAML on one line: `hidden`, `60`, `[GET, POST]`, `{ a: 1 }`; other text is quoted.

    Raises:
        BbopsError: the key cannot be set alone.
    """
    try:
        edit = set_value(change.document(name.file), tuple(key.split(".")), as_yaml(text))
    except CannotEdit as error:
        raise BbopsError(f"{name.file}: {error}") from error
    change.edit(name.file, [edit])


def unset_key(change: Change, name: Name, key: str) -> None:
    """Remove a key.

    Raises:
        BbopsError: it is not there, or cannot be removed alone.
    """
    try:
        edit = remove_key(change.document(name.file), tuple(key.split(".")))
    except CannotEdit as error:
        raise BbopsError(f"{name.file}: {error}") from error
    change.edit(name.file, [edit])


def as_yaml(text: str) -> str:
    """Return what was written on the command line as YAML that stands behind a key."""
    read = load(f"a: {text}\n".encode(errors="replace"))
    value: Any = read.root.get("a") if isinstance(read.root, dict) else None
    is_whole = not read.problems and isinstance(read.root, dict) and len(read.root) == 1
    if is_whole and (not isinstance(value, str) or value != text) and "#" not in text:
        return text
    return text if may_be_plain(text) else quoted(text)
