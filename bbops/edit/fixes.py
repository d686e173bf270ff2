"""Find what a finding's hint asks to write, where it asks for exactly one thing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bbops.base.diagnostics import Diagnostic, Place
from bbops.source.yaml.document import Document, load
from bbops.source.yaml.edit import Edit, Path, splice
from bbops.source.yaml.spots import Spot, spot_at

_NEAREST: Final = re.compile(r"did you mean '([^']+)'\?")
_WORDS: Final[Mapping[str, re.Pattern[str]]] = {
    "expression-syntax": re.compile(r"write '(and|or|not|==)'(?: to compare)?"),
    "order": re.compile(r"write '([^']+)'"),
    "unknown-name": re.compile(r"write '((?:vars|row)\.\w+)'"),
}
"""Hints that name the word to write in the place of one."""

_VALUES: Final[Mapping[str, re.Pattern[str]]] = {
    "bare-expression": re.compile(r"write: (.+)"),
    "double-braces": re.compile(r"write: (.+)"),
    "forgotten-braces": re.compile(r"write (\$\{.+\})"),
}
"""Hints that name the whole value."""

_BESIDE: Final = re.compile(r"add '(\w+): (\w+)'")
_SECRET: Final = re.compile(r"write '(\w+): \{ secret: true \}' in project\.yaml.*")
_NO_WORDS: Final = frozenset({"unknown-folder", "file-name"})
"""What these are about stands in no file."""

_QUOTED: Final = re.compile(r"'([^']+)'")
_BREAK: Final = re.compile(r"\r\n|\r|\n")
_LONGEST: Final = 500
"""Characters; a longer hint may have been cut."""


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
    """Return the entry that a finding wants to be another, None where its hint is no such word.

    Args:
        document: the file of the finding.
    """
    file, hint = found.place.file, found.hint
    if len(hint) > _LONGEST or document.problems:
        return None
    if found.code == "not-secret" and (named := _SECRET.fullmatch(hint)):
        return Cure("project.yaml", ("env", named[1], "secret"), value=True)
    spot = _spot(found.place, document)
    if spot is None:
        return None
    if (whole := _said(_VALUES, found)) and not spot.is_key:
        return Cure(file, spot.path, value=whole)
    if beside := _BESIDE.fullmatch(hint):
        return Cure(file, (*spot.path[:-1], beside[1]), value=beside[2])
    edit = find_edit(found, document)
    return _cure_by(edit, file, spot, document) if edit else None


def find_edit(found: Diagnostic, document: Document) -> Edit | None:
    """Return the edit of a file's text by which one word becomes the one that a hint names."""
    named = _NEAREST.fullmatch(found.hint)
    meant = named[1] if named else _said(_WORDS, found)
    spot = _spot(found.place, document) if meant and found.code not in _NO_WORDS else None
    if spot is None:
        return None
    start = max(_offset(found.place, document.source), spot.mark.start)
    text = document.source[start : spot.mark.end]
    for wrong in reversed(_QUOTED.findall(found.message)):
        places = [one.start() for one in _whole_word(wrong).finditer(text)]
        if places and (places[0] == 0 or len(places) == 1):
            at = start + places[0]
            return _padded(document.source, Edit(at, at + len(wrong), meant))
    return None


def _said(forms: Mapping[str, re.Pattern[str]], found: Diagnostic) -> str:
    named = forms[found.code].fullmatch(found.hint) if found.code in forms else None
    return named[1] if named else ""


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
