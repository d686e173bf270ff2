"""The documentation as agents are given it: whole pages, and their sections by anchor."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from bbops.base.assets import asset_folder
from bbops.source.tree import FolderTree

_LEFT_OUT: Final = ("decisions/", "example/")
_HEADING: Final = re.compile(r"^(#{1,3}) (.+)$")
_NOT_IN_ANCHOR: Final = re.compile(r"[^\w\- ]")
_LEAD: Final = re.compile(r"^\*\*[^*]+\*\* ")
_SENTENCE: Final = re.compile(r"\w|\[|`(?!``)")
_LINK: Final = re.compile(r"\[([^]]+)\]\([^)]*\)")
_MARKS: Final = str.maketrans("", "", "`*°")
_FENCE: Final = "```"


@dataclass(frozen=True, slots=True)
class Section:
    """What stands below one heading of a page, up to the next."""

    page: str
    heading: str
    anchor: str
    text: str


@dataclass(frozen=True, slots=True)
class Page:
    """One page. `path` is relative to the folder docs, such as `language/task.md`."""

    path: str
    title: str
    text: str

    @property
    def summary(self) -> str:
        """Its first sentence, without marks; empty where it begins with something else."""
        blocks = (" ".join(block.split()) for block in self.text.split("\n\n")[1:3])
        for block in (_LEAD.sub("", block) for block in blocks):
            if _SENTENCE.match(block):
                first = re.split(r"(?<=[.:])\s", block, maxsplit=1)[0]
                return _LINK.sub(r"\1", first).translate(_MARKS)
        return ""

    def sections(self) -> Iterator[Section]:
        """Yield its sections in their order."""
        heading, lines, is_code = self.title, list[str](), False
        for line in self.text.splitlines():
            is_code ^= line.lstrip().startswith(_FENCE)
            found = None if is_code else _HEADING.match(line)
            if found is None:
                lines.append(line)
                continue
            yield from self._cut(heading, lines)
            heading, lines = found[2].translate(_MARKS), []
        yield from self._cut(heading, lines)

    def _cut(self, heading: str, lines: list[str]) -> Iterator[Section]:
        text = "\n".join(lines).strip()
        if text:
            yield Section(self.path, heading, anchor(heading), text)


def anchor(heading: str) -> str:
    """Return the anchor of a heading, as git forges make it."""
    return _NOT_IN_ANCHOR.sub("", heading.lower()).replace(" ", "-")


@cache
def read_pages() -> Mapping[str, Page]:
    """Return every page by its path; of decisions and of the example there are none."""
    tree = FolderTree(asset_folder("docs"))
    wanted = [
        one for one in tree.entries()
        if one.kind == "file" and one.path.endswith(".md") and not one.path.startswith(_LEFT_OUT)
    ]  # fmt: skip
    texts = tree.read([one.blob for one in wanted])
    return {str(one.path): _page(one.path, texts[one.blob].decode()) for one in wanted}


def _page(path: str, text: str) -> Page:
    whole = text[text.find("# ") :]  # before it stands, at most, what has made the page
    first = whole.partition("\n")[0]
    return Page(path, first.removeprefix("# ").translate(_MARKS).strip() or path, whole)
