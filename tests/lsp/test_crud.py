"""What the editor knows of a file about a table."""

from __future__ import annotations

from pathlib import Path

import pytest

from bbops.interfaces.lsp.completion import complete
from bbops.interfaces.lsp.hover import explain
from bbops.interfaces.lsp.project import EditorProject
from bbops.interfaces.lsp.text import SourceLines
from tests.support.crud import write_project

NOTES = "endpoints/notes.yaml"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_project(tmp_path)


def opened(root: Path, before: str, after: str) -> tuple[EditorProject, SourceLines, int]:
    """Return the folder with a change at which the cursor, `¦`, is."""
    text = (root / NOTES).read_text()
    assert before in text
    typed = text.replace(before, after, 1)
    at = typed.index("¦")
    typed = typed.replace("¦", "")
    (root / NOTES).write_text(typed)
    return EditorProject.at(root), SourceLines(typed), at


@pytest.mark.parametrize(
    ("before", "after", "offered", "not_offered"),
    [
        ("owner: user_id", "owner: ¦", {"user_id", "title"}, {"notes"}),
        ("table: notes", "table: ¦", {"notes", "posts"}, {"title"}),
        ("[title, body, state, done, points, price, due, made_at", "[¦", {"title", "done"}, set()),
        ("input: [title, body", "input: [¦", {"title", "slug"}, {"email"}),
        ("  get: {}", "  ge¦", {"get"}, {"list", "create"}),
        ("    maxLimit: 5", "    maxL¦", {"maxLimit"}, {"limit", "method"}),
        ("owner: user_id", "ow¦", {"owner", "match"}, {"table", "steps"}),
    ],
)
def test_keys_and_columns_are_offered(
    root: Path, before: str, after: str, offered: set[str], not_offered: set[str]
) -> None:
    folder, lines, at = opened(root, before, after)
    labels = {one.label for one in complete(folder, NOTES, lines, at)}
    assert offered <= labels
    assert not labels & not_offered


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("ow¦ner: user_id", "signed-in user"), ("max¦Limit: 5", "maximum number of rows"),
        ("table: no¦tes", "notes"), ("owner: user¦_id", "integer"),
    ],
)  # fmt: skip
def test_what_stands_there_is_explained(root: Path, place: str, words: str) -> None:
    folder, lines, at = opened(root, place.replace("¦", ""), place)
    found = explain(folder, NOTES, lines, at)
    assert found is not None
    assert words in found.contents.value.lower()  # type: ignore[union-attr]
