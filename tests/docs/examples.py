"""Examples as files of a project: those of steps, those of addons, those of docs/example."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import indent
from typing import Any

from bbops.language.steps._base import Example
from tests.conftest import ROOT, Files, with_function

PROJECT = ROOT / "docs/example"
UPCOMING = ROOT / "docs/upcoming"
"""What this version does not run yet: files that lie on top of the example."""

FIRST = {
    "functions": "notes/create", "endpoints": "notes/create", "tables": "notes",
    "tests": "notes/create",
    "triggers": "note-created",
}  # fmt: skip
"""The file that a page begins with, where that is not the first by name."""

_FIELDS = {bool: "boolean", int: "integer", str: "string", list: "integer[]"}


def function_of(example: Example) -> str:
    """Return the function whose steps an example shows, with the `input` that they read."""
    shape = "".join(
        f"  {name}{'?' if f'input.{name} == null' in example.steps else ''}:"
        f" {_FIELDS[type(value)]}\n"
        for name, value in (example.input or {}).items()
    )
    head = f"input:\n{shape}" if shape else ""
    if "input.word" in example.steps and not shape:
        head = "input:\n  word?: string\n"
    return f"{head}steps:\n{indent(example.steps.rstrip(), '  ')}\n"


def project_of(example: Example) -> Files:
    """Return a project whose endpoint runs the steps of an example, or makes a job of them."""
    if not example.is_job:
        return with_function(function_of(example))
    start = "steps:\n  - enqueue: { function: shown }\n"
    return with_function(start) | {"functions/shown.yaml": function_of(example)}


def files_of(folder: str) -> list[tuple[str, str]]:
    """Return (path, text) of the files of one kind, the telling one first.

    They are those of docs/example; of a kind that has none there, those of docs/upcoming.
    """
    files = example_files()
    paths = [path for path in files if _is_in(path, folder)]
    if not paths:
        files = upcoming_files()
        paths = [path for path in files if _is_in(path, folder)]
    paths.sort(key=lambda path: path != f"{folder}/{FIRST.get(folder)}.yaml")
    return [(path, files[path]) for path in paths]


def example_files() -> Files:
    """Return the project of docs/example."""
    return _files(PROJECT)


def upcoming_files() -> Files:
    """Return the same project with what this version does not run yet."""
    return example_files() | _files(UPCOMING)


def _files(folder: Path) -> Files:
    found = sorted(folder.rglob("*.yaml"))
    return {path.relative_to(folder).as_posix(): path.read_text() for path in found}


def _is_in(path: str, folder: str) -> bool:
    return path.startswith(f"{folder}/") if folder else path == "project.yaml"


def block(path: str, text: str) -> str:
    """Return a file as a block of Markdown."""
    return f"```yaml\n# {path}\n{text.rstrip()}\n```"


def shown(value: Any) -> str:
    """Return JSON on one line."""
    return json.dumps(value, ensure_ascii=False)
