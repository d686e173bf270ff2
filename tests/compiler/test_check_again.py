"""What is taken over from an earlier check is what a whole check finds, whatever was edited."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbops.compiler.compile.release import Built, Cache, build
from bbops.source.tree import FolderTree, MemoryTree
from tests.conftest import ROOT, TEMPLATE, Files

PROJECTS = [TEMPLATE, ROOT / "tests/samples/blog", ROOT / "tests/samples/saas"]


def files_of(folder: Path) -> Files:
    tree = FolderTree(folder)
    texts = tree.read([entry.blob for entry in tree.entries()])
    return {
        entry.path: texts[entry.blob].decode()
        for entry in tree.entries() if entry.path.endswith(".yaml")
    }  # fmt: skip


ORIGINALS = {folder.name: files_of(folder) for folder in PROJECTS}


@st.composite
def edited(draw: st.DrawFn, files: Files, original: Files) -> Files:
    """Return the files after one edit: of a line, of a word, or of a whole file."""
    path = draw(st.sampled_from(sorted(original)))
    if path not in files or draw(st.integers(0, 4)) == 0:  # as it was in the beginning
        return files | {path: original[path]}
    if draw(st.integers(0, 9)) == 0:
        return {name: text for name, text in files.items() if name != path}
    lines = files[path].splitlines(keepends=True)
    at = draw(st.integers(0, len(lines) - 1))
    other = draw(st.sampled_from(files[draw(st.sampled_from(sorted(files)))].split()))
    words = lines[at].split(" ")
    words[draw(st.integers(0, len(words) - 1))] = other
    change = draw(st.sampled_from([[], [lines[at], lines[at]], [" ".join(words)]]))
    return files | {path: "".join([*lines[:at], *change, *lines[at + 1 :]]) or "\n"}


def result(built: Built) -> tuple[object, ...]:
    return built.diagnostics, built.digest, built.project is not None


@pytest.mark.long
@pytest.mark.parametrize("name", ORIGINALS)
@settings(deadline=None, max_examples=5)
@given(data=st.data())
def test_a_warm_build_is_a_cold_one(name: str, data: st.DataObject) -> None:
    original = files = ORIGINALS[name]
    cache = Cache()
    build(MemoryTree(files), cache)
    for _ in range(data.draw(st.integers(1, 5))):
        files = data.draw(edited(files, original))
        tree = MemoryTree(files)
        assert result(build(tree, cache)) == result(build(tree))
