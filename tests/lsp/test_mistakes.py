"""`bbops lsp` underlines mistakes as they are typed, and forgets them when they are repaired."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types as lsp

from tests.lsp.editing import LIST, LOGIN, NOTES, Client, edit, marked

pytestmark = pytest.mark.long


def test_a_mistake_is_underlined_and_forgotten_when_it_is_mended(project: Path) -> None:
    async def test(editor: Client) -> None:
        good = editor.show(LOGIN)
        bad = editor.show(LOGIN, good.replace("vars.user.id }", "vars.user.idd }", 1))
        assert await editor.until(LOGIN, bool) == ["unknown-column"]
        (finding,) = editor.told[LOGIN]
        assert marked(bad, finding) == "idd"
        assert finding.message.startswith("table 'users' has no column 'idd'\nhint: ")
        editor.show(LOGIN, good)
        assert await editor.until(LOGIN, lambda found: not found) == []

    edit(project, test)


MISTAKES = [
    ("orderBy:", "orderBi:", "orderBi"),
    ("table: notes", "table: nots", "nots"),
    ("done == query.done", "dune == query.done", "dune"),
    ("- find:", "- fnd:", "fnd"),
    ("[id, title,", "[id, titel,", "titel"),
    ("page?: { type: integer", "page?: { type: intger", "intger"),
]


def test_mistakes_are_underlined_exactly(project: Path) -> None:
    async def test(editor: Client) -> None:
        good = editor.show(LIST)
        for old, new, underlined in MISTAKES:
            text = editor.show(LIST, good.replace(old, new, 1))
            await editor.until(LIST, bool)
            assert underlined in [marked(text, one) for one in editor.told[LIST]]
            editor.show(LIST, good)
            await editor.until(LIST, lambda found: not found)

    edit(project, test)


def test_an_edit_is_judged_in_files_that_are_not_open(project: Path) -> None:
    async def test(editor: Client) -> None:
        table = editor.read("tables/notes.yaml")
        editor.show("tables/notes.yaml", table.replace("title:", "heading:"))
        assert "unknown-column" in await editor.until(LIST, bool)
        editor.show("tables/notes.yaml", table)
        await editor.until(LIST, lambda found: not found)

    edit(project, test)


def test_columns_count_utf16_units(project: Path) -> None:
    async def test(editor: Client) -> None:
        text = editor.read(LOGIN).replace(
            "message: Wrong email or password", "message: '😀😀 ${ vars.nobody }'"
        )
        editor.show(LOGIN, text)
        await editor.until(LOGIN, bool)
        assert "nobody" in [marked(text, one) for one in editor.told[LOGIN]]

    edit(project, test)


def test_lines_may_end_as_on_windows(project: Path) -> None:
    async def test(editor: Client) -> None:
        text = (
            editor.read(LIST).replace("\n", "\r\n").replace("vars.auth.userId", "vars.auth.userIdd")
        )
        editor.show(LIST, text)
        await editor.until(LIST, bool)
        assert [marked(text, one) for one in editor.told[LIST]] == ["userIdd"]

    edit(project, test)


NO_YAML = ["", "\t", "steps: [", "a: 'b", "- - -", "{{", "\ufeff", "\x00", "steps:\n  - 😀: &a *a"]


def test_a_text_that_is_no_yaml_breaks_nothing(project: Path) -> None:
    async def test(editor: Client) -> None:
        good = editor.show(LIST)
        for text in NO_YAML:
            editor.show(LIST, text)
            await editor.until(LIST, bool)
            editor.show(LIST, good)
            await editor.until(LIST, lambda found: not found)

    edit(project, test)


def test_a_file_outside_projects_is_left_alone(tmp_path: Path, project: Path) -> None:
    async def test(editor: Client) -> None:
        (tmp_path / "other.yaml").write_text("a: [")
        editor.show("../other.yaml")
        editor.show(LIST, "steps: [")
        await editor.until(LIST, bool)
        assert set(editor.told) <= {LIST, "endpoints/notes/list.yaml"}

    edit(project, test)


def test_a_document_that_is_closed_counts_as_it_is_on_disk(project: Path) -> None:
    async def test(editor: Client) -> None:
        editor.show(LIST, "steps: [")
        await editor.until(LIST, bool)
        closing = lsp.DidCloseTextDocumentParams(editor.document(LIST))
        editor.client.text_document_did_close(closing)
        await editor.until(LIST, lambda found: not found)

    edit(project, test)


def test_a_file_that_changes_outside_the_editor_is_looked_at(project: Path) -> None:
    async def test(editor: Client) -> None:
        editor.show(NOTES)
        (project / LIST).write_text("steps: [")
        change = lsp.FileEvent(editor.uri(LIST), lsp.FileChangeType.Changed)
        changed = lsp.DidChangeWatchedFilesParams([change])
        editor.client.workspace_did_change_watched_files(changed)
        assert await editor.until(LIST, bool) == ["yaml-syntax"]

    edit(project, test)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_columns_count_what_the_editor_counts(project: Path, encoding: str) -> None:
    async def test(editor: Client) -> None:
        assert editor.server.position_encoding == encoding
        line = "  - log: { message: 'é😀 ${ vars.nobody }' }"
        editor.show(LIST, editor.read(LIST).replace("  - find:", f"{line}\n\n  - find:", 1))
        await editor.until(LIST, bool)
        (one,) = editor.told[LIST]
        before = line[: line.index("nobody")].encode(f"{encoding}-le".replace("8-le", "8"))
        size = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
        assert one.range.start.character == len(before) // size

    edit(project, test, encodings=[encoding])
