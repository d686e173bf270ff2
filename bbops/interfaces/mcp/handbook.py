"""The documentation for agents: pages, and their sections by anchor."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from bbops.base.assets import read_documentation

_LEFT_OUT: Final = ("decisions/", "example/", "style.md", "bench.md")
_HEADING: Final = re.compile(r"^(#{1,3}) (.+)$")
_NOT_IN_ANCHOR: Final = re.compile(r"[^\w\- ]")
_LEAD: Final = re.compile(r"^\*\*[^*]+\*\* ")
_SENTENCE: Final = re.compile(r"\w|\[|`(?!``)")
_LINK: Final = re.compile(r"\[([^]]+)\]\([^)]*\)")
_MARKS: Final = str.maketrans("", "", "`*°")
_FENCE: Final = "```"


@dataclass(frozen=True, slots=True)
class Section:
    """The text below a heading of a page, up to the next heading."""

    page: str
    heading: str
    anchor: str
    text: str


@dataclass(frozen=True, slots=True)
class HandbookPage:
    """A page of the documentation. `path` is relative to docs, such as `language/task.md`."""

    path: str
    title: str
    text: str

    @property
    def summary(self) -> str:
        """The page's first sentence, without Markdown; empty if it begins with another block."""
        blocks = (" ".join(block.split()) for block in self.text.split("\n\n")[1:3])
        for block in (_LEAD.sub("", block) for block in blocks):
            if _SENTENCE.match(block):
                first = re.split(r"(?<=[.:])\s", block, maxsplit=1)[0]
                return _LINK.sub(r"\1", first).translate(_MARKS)
        return ""

    def sections(self) -> Iterator[Section]:
        """Yield the sections in their order."""
        heading, lines, is_code = self.title, list[str](), False
        for line in self.text.splitlines():
            is_code ^= line.lstrip().startswith(_FENCE)
            match = None if is_code else _HEADING.match(line)
            if match is None:
                lines.append(line)
                continue
            yield from self._cut(heading, lines)
            heading, lines = match[2].translate(_MARKS), []
        yield from self._cut(heading, lines)

    def _cut(self, heading: str, lines: list[str]) -> Iterator[Section]:
        text = "\n".join(lines).strip()
        if text:
            yield Section(self.path, heading, anchor(heading), text)


def anchor(heading: str) -> str:
    """Return the anchor of a heading, as GitHub creates it."""
    return _NOT_IN_ANCHOR.sub("", heading.lower()).replace(" ", "-")


@cache
def read_pages() -> Mapping[str, HandbookPage]:
    """Return the pages by path, without decisions and the example."""
    pages = read_documentation().items()
    return {path: _page(path, text) for path, text in pages if not path.startswith(_LEFT_OUT)}


def _page(path: str, text: str) -> HandbookPage:
    whole = text[text.find("# ") :]  # a generated page begins with a comment
    first = whole.partition("\n")[0]
    return HandbookPage(path, first.removeprefix("# ").translate(_MARKS).strip() or path, whole)
