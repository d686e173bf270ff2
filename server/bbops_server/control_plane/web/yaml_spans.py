"""The colours of YAML: keys, expressions and comments of a line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

MAX_COLOURED: Final = 2_000
"""Characters of a line; a longer one has no colours."""
_KEY: Final = re.compile(r"""(\s*(?:-\s+)*)('[^']*'|"[^"]*"|[\w.?*/-]+)(:)(?=\s|$)""")
_PART: Final = re.compile(r"(?P<v>\$\{[^}]*\})|(?P<c>(?:^|(?<=\s))#.*)")


def spans_of(line: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a line as (class, text): `k` keys, `v` expressions, `c` comments.

    Lines are coloured on their own, so that prose of a block may look like a key.
    """
    if len(line) > MAX_COLOURED:
        yield "", line
        return
    rest = line
    if match := _KEY.match(line):
        yield "", match[1]
        yield "k", match[2]
        yield "", match[3]
        rest = line[match.end() :]
    end = 0
    for part in _PART.finditer(rest):
        yield "", rest[end : part.start()]
        yield part.lastgroup or "", part[0]
        end = part.end()
    yield "", rest[end:]
