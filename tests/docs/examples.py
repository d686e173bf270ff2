"""Examples as files of a project: those of steps, those of addons, those of docs/example."""

from __future__ import annotations

import json
from textwrap import indent
from typing import Any

from bbops.steps._base import Example
from tests.conftest import ROOT

PROJECT = ROOT / "docs/example"
FIRST = {
    "functions": "notes/create", "tables": "notes", "tests": "notes/create",
    "triggers": "note-created",
}  # fmt: skip
"""The file that a page begins with, where that is not the first by name."""

_FIELDS = {bool: "boolean", int: "integer", str: "string", list: "integer[]"}


def function_of(example: Example) -> str:
    """Return the function whose steps an example shows, with the `input` that they read."""
    shape = "".join(f"  {k}: {_FIELDS[type(v)]}\n" for k, v in (example.input or {}).items())
    head = f"input:\n{shape}" if shape else ""
    if "input.word" in example.steps and not shape:
        head = "input:\n  word?: string\n"
    return f"{head}steps:\n{indent(example.steps.rstrip(), '  ')}\n"


def files_of(folder: str) -> list[tuple[str, str]]:
    """Return (path, text) of the files of one kind in docs/example, the telling one first."""
    found = sorted(PROJECT.glob(f"{folder}/**/*.yaml" if folder else "project.yaml"))
    paths = [path.relative_to(PROJECT).as_posix() for path in found]
    paths.sort(key=lambda path: path != f"{folder}/{FIRST.get(folder)}.yaml")
    return [(path, (PROJECT / path).read_text()) for path in paths]


def block(path: str, text: str) -> str:
    """Return a file as a block of Markdown."""
    return f"```yaml\n# {path}\n{text.rstrip()}\n```"


def shown(value: Any) -> str:
    """Return JSON on one line."""
    return json.dumps(value, ensure_ascii=False)
