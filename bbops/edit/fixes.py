"""Find the entry and the text that the fix of a diagnostic changes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from bbops.base.diagnostics import Diagnostic, Place, ReplaceValue, ReplaceWord, SetEntry
from bbops.source.yaml.document import Document, load
from bbops.source.yaml.edit import Edit, Path, Spot, splice, spot_at

_BREAK: Final = re.compile(r"\r\n|\r|\n")
_LONGEST: Final = 500
"""Characters of a value that is shown whole."""


@dataclass(frozen=True, slots=True)
class Cure:
    """One entry of a file as it should be.

    Attributes:
        path: its keys and indexes from the root on.
        key: what its key should be; empty where its value changes.
        value: what should stand there; there may be nothing yet.
    """

    file: str
    path: Path
    key: str = ""
    value: Any = None


def find_cure(found: Diagnostic, document: Document) -> Cure | None:
    """Return the entry that a diagnostic wants to be another, None if it names no fix.

    Args:
        document: the file of the diagnostic.
    """
    file, fix = found.place.file, found.fix
    if fix is None or document.problems:
        return None
    if isinstance(fix, SetEntry) and fix.file:
        return Cure(fix.file, (*fix.path, fix.key), value=fix.value)
    spot = _spot(found.place, document)
    if spot is None:
        return None
    if isinstance(fix, SetEntry):
        return Cure(file, (*spot.path[:-1], fix.key), value=fix.value)
    if isinstance(fix, ReplaceValue):
        return None if spot.is_key else Cure(file, spot.path, value=fix.new)
    edit = find_edit(found, document)
    return _cure_by(edit, file, spot, document) if edit else None


def find_edit(found: Diagnostic, document: Document) -> Edit | None:
    """Return the edit of a file's text by which one word becomes the one that a fix names."""
    fix = found.fix
    spot = _spot(found.place, document) if isinstance(fix, ReplaceWord) else None
    if spot is None or not isinstance(fix, ReplaceWord) or not fix.old:
        return None
    start = max(_offset(found.place, document.source), spot.mark.start)
    text = document.source[start : spot.mark.end]
    places = [one.start() for one in _whole_word(fix.old).finditer(text)]
    if not places or (places[0] != 0 and len(places) > 1):
        return None
    at = start + places[0]
    return _padded(document.source, Edit(at, at + len(fix.old), fix.new))


def _spot(place: Place, document: Document) -> Spot | None:
    return spot_at(document, _offset(place, document.source))


def _offset(place: Place, source: str) -> int:
    starts = [0, *(one.end() for one in _BREAK.finditer(source))]
    return min(starts[min(place.line, len(starts)) - 1] + place.column - 1, len(source))


def _whole_word(text: str) -> re.Pattern[str]:
    before, after = (r"(?<![\w-])" if text[0].isalnum() else "",
                     r"(?![\w-])" if text[-1].isalnum() else "")  # fmt: skip
    return re.compile(before + re.escape(text) + after)


def _padded(source: str, edit: Edit) -> Edit:
    """Return an edit whose word does not grow together with what stands beside a sign."""
    old = source[edit.start : edit.end]
    if old[0].isalnum() or not edit.text.isalnum():
        return edit
    before = " " if source[edit.start - 1].isalnum() else ""
    after = " " if source[edit.end : edit.end + 1].strip() else ""
    return edit._replace(text=f"{before}{edit.text}{after}")


def _cure_by(edit: Edit, file: str, spot: Spot, document: Document) -> Cure | None:
    """Return what an edit of the text does to the value, None if that is something else, too."""
    again = load(splice(document.source, [edit]).encode(errors="replace"))
    if again.problems:
        return None
    if spot.is_key:
        return Cure(file, spot.path, key=edit.text)
    value: Any = again.root
    for part in spot.path:
        value = value[part]
    is_short = not isinstance(value, str) or len(value) <= _LONGEST
    return Cure(file, spot.path, value=value) if is_short else None
