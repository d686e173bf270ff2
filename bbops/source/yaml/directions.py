"""Find characters that change the direction of text, and so what a reviewer sees of a file.

Refused where the file's own words stand; in comments and quoted texts, which may hold Arabic or
Hebrew, each is pointed out.

Source: Boucher and Anderson, "Trojan Source: Invisible Vulnerabilities" (CVE-2021-42574).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Any, Final

from yaml import events as kinds

from bbops.source.yaml.complaints import problem
from bbops.source.yaml.events import Parse
from bbops.source.yaml.nodes import Problem

TURNING: Final = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""The characters, as a part of a class of a regular expression."""

_TURNING: Final = re.compile(f"[{TURNING}]")
_MOST: Final = 20
_SEEN: Final = ": the text may not be what it looks like"


def find_directions(source: str, parse: Parse) -> tuple[tuple[Problem, ...], tuple[Problem, ...]]:
    """Return what is refused of a file that can be parsed, and what is only pointed out."""
    if source.isascii() or not _TURNING.search(source):
        return (), ()
    events: list[Any] = [one for one in parse(source) if type(one) is kinds.ScalarEvent]
    scalars = [(one.start_mark.index, one.end_mark.index, bool(one.style)) for one in events]
    refused, shown = [], []
    for found in _TURNING.finditer(source):
        at = bisect_right(scalars, (found.start(), len(source), True)) - 1
        is_plain = at >= 0 and scalars[at][1] > found.start() and not scalars[at][2]
        if is_plain:
            refused.append(_tell(source, found.start()))
        else:
            shown.append(_tell(source, found.start(), _SEEN))
    return tuple(refused[:_MOST]), tuple(shown[:_MOST])


def _tell(source: str, at: int, consequence: str = "") -> Problem:
    message = f"character {_name(source[at])} changes the text direction{consequence}"
    hint = f'remove it, or write it as \\u{ord(source[at]):04X} inside "…"'
    return problem(source, at, message, hint, "text-direction")


def _name(character: str) -> str:
    return f"U+{ord(character):04X}"
