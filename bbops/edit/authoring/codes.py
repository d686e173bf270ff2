"""Read docs/errors: the codes of diagnostics, with examples, of publications and responses."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bbops.base.assets import read_documentation

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
