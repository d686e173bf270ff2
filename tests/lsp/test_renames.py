"""`bbops lsp` renames variables and resources, or says why not."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from bbops.compiler.check import validate
from bbops.source.tree import FolderTree
from tests.lsp.editing import LIST, LOGIN, NOTES, Client, applied, edit, typed


@pytest.mark.long
@pytest.mark.parametrize("place", ["as: us¦er", "${ vars.us¦er.id }"])
def test_a_variable_is_renamed_where_it_is_set_and_read(project: Path, place: str) -> None:
    async def test(editor: Client) -> None:
        at = typed(editor, LOGIN, place.replace("¦", ""), place)
        params = lsp.RenameParams(editor.document(LOGIN), at, "person")
        found = await editor.client.text_document_rename_async(params)
        assert found is not None
        assert found.changes is not None
        assert list(found.changes) == [editor.uri(LOGIN)]
        text = applied(editor.read(LOGIN), found.changes[editor.uri(LOGIN)])
        good = editor.read(LOGIN).replace("as: user\n", "as: person\n")
        assert text == good.replace("vars.user", "vars.person")
        editor.show(LOGIN, text.replace("steps:", "step:"))
        await editor.until(LOGIN, bool)
        editor.show(LOGIN, text)
        await editor.until(LOGIN, lambda told: not told)

    edit(project, test)


@pytest.mark.long
def test_a_variable_is_renamed_in_every_part_of_a_query(project: Path) -> None:
    text = """steps:
  - set: { least: 2 }
  - find:
      table: notes
      select:
        long: (title | length) > vars.least
      limit: 1
    as: notes
  - find:
      table: users
      select:
        id: id
        last: { find: { relation: notes, where: (title | length) > vars.least, select: [title] } }
    as: users
  - find:
      table: notes
      aggregate:
        groupBy: { long: (title | length) > vars.least }
        values: { n: count((title | length) == vars.least) }
        having: n > vars.least
    as: groups
  - return: { value: { a: "${ vars.notes }", b: "${ vars.users }", c: "${ vars.groups }" } }
"""
    (project / LIST).write_text(text)

    async def test(editor: Client) -> None:
        at = typed(editor, LIST, "vars.least", "vars.le¦ast")
        params = lsp.RenameParams(editor.document(LIST), at, "most")
        found = await editor.client.text_document_rename_async(params)
        assert found is not None
        assert found.changes is not None
        renamed = applied(editor.read(LIST), found.changes[editor.uri(LIST)])
        assert renamed == text.replace("least", "most")

    edit(project, test)


REFUSED = [
    (LOGIN, "${ vars.us¦er.id }", "token", "already exists"),
    (LOGIN, "${ vars.us¦er.id }", "no name", "is not a variable name"),
    (LOGIN, "verifyPass¦word", "people", "only variables"),
    (LIST, "table: no¦tes", "users", "already"),
    (LIST, "table: no¦tes", "No Tes", "not a name of tables"),
    ("functions/middleware/signed-in.yaml", "as: m¦e", "person", "after this middleware"),
]


@pytest.mark.long
def test_a_rename_that_would_break_something_is_refused(project: Path) -> None:
    async def test(editor: Client) -> None:
        for path, place, name, message in REFUSED:
            at = typed(editor, path, place.replace("¦", ""), place)
            with pytest.raises(JsonRpcException, match=message):
                await editor.client.text_document_rename_async(
                    lsp.RenameParams(editor.document(path), at, name)
                )

    edit(project, test)


@pytest.mark.long
def test_a_table_is_renamed_with_its_file_and_all_that_names_it(project: Path) -> None:
    async def test(editor: Client) -> None:
        at = typed(editor, LIST, "table: notes", "table: no¦tes")
        params = lsp.RenameParams(editor.document(LIST), at, "memos")
        found = await editor.client.text_document_rename_async(params)
        assert found is not None
        *edits, moved = found.document_changes or ()
        assert isinstance(moved, lsp.RenameFile)
        assert (moved.old_uri, moved.new_uri) == (
            editor.uri(NOTES),
            editor.uri("tables/memos.yaml"),
        )
        for one in edits:
            assert isinstance(one, lsp.TextDocumentEdit)
            path = Path(one.text_document.uri.removeprefix("file://"))
            path.write_text(applied(path.read_text(), one.edits))
        (project / NOTES).rename(project / "tables/memos.yaml")
        assert "renamedFrom: notes" in (project / "tables/memos.yaml").read_text()
        assert validate(FolderTree(project))[1] == ()

    edit(project, test)
