"""The pages of docs/language and docs/errors, by topic and by code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bbops.base.assets import read_documentation

GROUPS: Final = (
    "type", "operator", "filter", "function", "step", "kind", "addon", "key",
)  # fmt: skip
"""What there is to explain beside codes, in the order in which it is listed."""

_PAGES: Final = {
    "types.md": "type", "operators.md": "operator", "filters.md": "filter",
    "functions.md": "function",
}  # fmt: skip
"""Pages with a section for each of their topics."""
_SIGN: Final = re.compile(r".+ \(`(.+)`\)")
"""The heading of an operator, which is named by its sign."""
_HEADING: Final = re.compile(r"^## (.+)$", re.MULTILINE)
_KEY: Final = re.compile(r"^\| `(\w+)` \|(.*)\|$", re.MULTILINE)
_CELL: Final = re.compile(r"(?<!\\)\|")
_MADE: Final = re.compile(r"^<!--.*-->\n+")
_TITLE: Final = re.compile(r"^# (.+)\n+")


@dataclass(frozen=True, slots=True)
class Topic:
    """One of them. `text` is Markdown, and `page` its page below docs/language."""

    group: str
    name: str
    text: str
    page: str

    @property
    def summary(self) -> str:
        """Its first sentence."""
        blocks = (block for block in self.text.split("\n\n") if not block.startswith(("```", "|")))
        return " ".join(next(blocks, "").split())


def read_topics() -> list[Topic]:
    """Return every topic, group by group.

    Raises:
        BbopsError: this installation lacks the pages.
    """
    found = [
        topic
        for path, text in read_documentation("language").items() if not path.endswith("README.md")
        for topic in parse_topics(path, text)
    ]  # fmt: skip
    return sorted(found, key=lambda one: GROUPS.index(one.group))


def parse_topics(path: str, page: str) -> Iterator[Topic]:
    """Yield the topics of a page's text."""
    text = _MADE.sub("", page)
    title = _TITLE.match(text)
    name, text = (title[1].rstrip(" °"), text[title.end() :]) if title else (path, text)
    if path in _PAGES:
        yield from _sections(_PAGES[path], path, text)
    elif path.startswith("addons/"):
        yield Topic("addon", name, text.strip(), path)
        steps = _sections("step", path, text)
        yield from (one for one in steps if one.name.startswith(f"{name}."))
    elif path.startswith("steps/"):
        yield Topic("step", name, text.strip(), path)
    else:
        yield Topic("kind", name, text.strip(), path)
        yield from _keys(name, path, text)


def _sections(group: str, path: str, text: str) -> Iterator[Topic]:
    _, *parts = _HEADING.split(text)
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        sign = _SIGN.fullmatch(name)
        yield Topic(group, sign[1] if sign else name.rstrip(" °"), body.strip(), path)


def _keys(kind: str, path: str, text: str) -> Iterator[Topic]:
    """Yield the keys in the first table of a kind's page; those of its parts are on the page."""
    _, _, table = text.partition("\n## Keys\n")
    for key, row in _KEY.findall(table.partition("\n#")[0]):
        takes, left_out, words = (cell.strip() for cell in _CELL.split(row))
        needed = "It is needed." if "needed" in left_out else ""
        default = f"When left out: {left_out}." if left_out and not needed else ""
        said = filter(None, [words.rstrip(" °"), f"Takes {takes}.", needed or default])
        yield Topic("key", f"{kind}.{key}", " ".join(said), path)


# ---- Read docs/errors: the codes of diagnostics, with examples, of publications and responses

_SECTION = re.compile(r"# (.+)")
_CODE = re.compile(r"^## ([A-Za-z-]+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Code:
    """One code. `examples` is Markdown: a sentence of why, then YAML, wrong and right.

    Codes of publications and responses have no YAML.
    """

    name: str
    section: str
    text: str
    examples: str = ""


def read_codes() -> dict[str, Code]:
    """Return every code by its name, section by section.

    Raises:
        BbopsError: this installation lacks the pages.
    """
    found: dict[str, Code] = {}
    for text in read_documentation("errors").values():
        found |= parse_codes(text)
    return found


def parse_codes(page: str) -> dict[str, Code]:
    """Return the codes of a page's text."""
    head, *parts = _CODE.split(page)
    title = _SECTION.match(head)
    section = title[1] if title else ""
    found: dict[str, Code] = {}
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        text, _, examples = body.strip().partition("\n\n")
        found[name] = Code(name, section, text, examples.strip())
    return found
