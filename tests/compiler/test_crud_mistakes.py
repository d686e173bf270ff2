"""Mistakes planted in a file about a table: each is told, in that file, at its line."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from bbops.compiler.check import Cache, validate
from bbops.source.tree import FolderTree, MemoryTree
from bbops.source.yaml.document import Map, Seq, Text
from bbops.source.yaml.document import load as load_document
from tests.conftest import ROOT

PROJECT = ROOT / "tests/golden/check/ok-crud/project"
FILE = "endpoints/notes.yaml"
FREE = {"description", "path", "limit"}
"""Keys whose values any other value may be."""

pytestmark = pytest.mark.long


def spots(node: object, key: str = "") -> Iterator[tuple[int, int, int, str]]:
    """Yield where each key and text stands: its line, its begin and end, and what it is."""
    if isinstance(node, Map):
        for name, inner in node.items():
            mark = node.keys_at[name]
            if key not in {"select", "author"}:
                yield mark.line, mark.start, mark.end, name
            yield from spots(inner, name)
    elif isinstance(node, Seq):
        for one in node:
            yield from spots(one, key)
    elif isinstance(node, Text) and key not in FREE:
        yield node.mark.line, node.mark.start, node.mark.end, str(node)


def misspelt(text: str) -> str:
    """Return a text with a letter of its last name doubled."""
    *_, last = re.finditer(r"[a-z]{2,}", text)
    return text[: last.end()] + text[last.end() - 1] + text[last.end() :]


def test_a_misspelt_key_or_name_is_told_at_its_line() -> None:
    tree = FolderTree(PROJECT)
    entries = tree.entries()
    texts = tree.read([one.blob for one in entries])
    files = {str(one.path): texts[one.blob].decode() for one in entries}
    source, cache, silent = files[FILE], Cache(), []
    found = [*spots(load_document(source.encode()).root)]
    assert len(found) > 40
    for line, start, end, what in found:
        changed = source[:start] + misspelt(source[start:end]) + source[end:]
        _, diagnostics = validate(MemoryTree(files | {FILE: changed}), cache)
        told = {one.place.line for one in diagnostics if one.place.file == FILE}
        if line not in told:
            silent.append((line, what, [*map(str, diagnostics)]))
    assert silent == []
