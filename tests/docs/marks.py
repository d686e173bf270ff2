"""The sentence that says what this version does not run yet, and the marks of what it names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from bbops.compiler.check._supported import find_unsupported_parts
from bbops.language.addons._base import kinds as addon_kinds
from bbops.language.addons._base import step_keys
from bbops.language.loading.load import kinds
from bbops.language.steps._base import step_kinds
from tests.conftest import ROOT

_HEAD = "<!-- not run yet -->"
_BLOCK = re.compile(rf"(?<={re.escape(_HEAD)}\n).*\n")
_MADE = {ROOT / "docs/errors.md"}
PAGES = sorted(
    {
        ROOT / "README.md", *(ROOT / "docs").glob("*.md"),
        *(ROOT / "bbops/interfaces/skills").rglob("*.md"),
        *(ROOT / "project-template/.agents").rglob("*.md"),
    } - _MADE
)  # fmt: skip
"""Pages that people write, which name parts of the language."""


def sentence() -> str:
    """Return what this version checks, but does not run."""
    found = find_unsupported_parts()
    groups = {"": found.kinds, "keys ": found.keys, "steps ": found.steps, "addons ": found.addons}
    parts = [what + ", ".join(f"`{name}` °" for name in names)
             for what, names in groups.items() if names]  # fmt: skip
    if not parts:
        return "This version runs all of the language."
    return f"This version checks, but does not run yet: {'; '.join(parts)}."


def with_sentence(text: str) -> str:
    """Return a page with the sentence as it is now."""
    return _BLOCK.sub(lambda _: f"{sentence()}\n", text)


def find_wrong_marks(path: Path) -> Iterator[str]:
    """Yield each part of the language that a page names with a mark, or without, wrongly."""
    parts = find_unsupported_parts()
    absent = {*parts.kinds, *parts.steps, *parts.addons, *parts.addon_steps}
    known = {*filter(None, kinds()), *step_kinds(), *addon_kinds(), *step_keys()}
    for name, mark in _names(path.read_text()):
        if name in known and (mark == " °") != (name in absent):
            yield f"{path.relative_to(ROOT)}: {name}{mark}"


def _names(text: str) -> Iterator[tuple[str, str]]:
    """Yield (folder, step or addon, its mark) for folders, steps of addons, links, and marks.

    Words such as `email` are also names of other things, so alone they need no mark.
    """
    for found in re.finditer(r"`([A-Za-z.]+)(/?)`( °)?", text):
        if found[2] or "." in found[1] or found[3]:
            yield found[1], found[3] or ""
    for found in re.finditer(r"^([a-z]+)/<\w+>\S*  +# .*?( °)?$", text, re.MULTILINE):
        yield found[1], found[2] or ""
    for found in re.finditer(r"\(language/(?:steps/|addons/)?([A-Za-z]+)\.md\)( °)?", text):
        kind = {model.__name__.lower(): folder for folder, model in kinds().items()}
        yield kind.get(found[1], found[1]), found[2] or ""
