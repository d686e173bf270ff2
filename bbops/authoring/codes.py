"""Read docs/errors.md: what each code of a diagnostic means, wrong and right."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bbops.assets import asset_folder
from bbops.tree import FolderTree

_HEADING = re.compile(r"^(##|###) (.+)$", re.MULTILINE)
_ROW = re.compile(r"^\| `([a-z-]+)` \| (.+) \|$", re.MULTILINE)
_LINK = re.compile(r"\s*\[Examples\]\(#[a-z-]+\)")


@dataclass(frozen=True, slots=True)
class Code:
    """One code. `examples` is Markdown: a sentence of why, then YAML, wrong and right."""

    name: str
    section: str
    text: str
    examples: str = ""


def read_codes() -> dict[str, Code]:
    """Return every code by its name, in the order of the page.

    Raises:
        BbopsError: this installation lacks the page.
    """
    tree = FolderTree(asset_folder("docs"))
    blobs = [one.blob for one in tree.entries() if one.path == "errors.md"]
    return parse_codes(b"".join(tree.read(blobs).values()).decode())


def parse_codes(page: str) -> dict[str, Code]:
    """Return the codes of the page's text."""
    parts = _HEADING.split(page)
    found: dict[str, Code] = {}
    examples: dict[str, str] = {}
    for level, title, body in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        if level == "###":
            examples[title] = body.strip()
        for name, text in _ROW.findall(body):
            found[name] = Code(name, title, _LINK.sub("", text))
    return {
        name: Code(name, one.section, one.text, examples.get(name, ""))
        for name, one in found.items()
    }
