"""Where `bbops lsp` leads: to definitions, and to uses."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types as lsp

from tests.lsp.editing import ENDPOINT, LIST, LOGIN, NOTES, Client, edit, typed

DEFINITIONS = [
    (LOGIN, "${ vars.us¦er.id }", LOGIN, "user"),
    (LOGIN, "vars.user.na¦me", "tables/users.yaml", "name"),
    (LOGIN, "input.em¦ail", LOGIN, "email"),
    (LOGIN, "table: us¦ers", "tables/users.yaml", ""),
    (LIST, "query.pa¦ge", LIST, "page?"),
    (LIST, "[id, ti¦tle", NOTES, "title"),
    (ENDPOINT, "notes/l¦ist", LIST, ""),
    (ENDPOINT, "notes-¦v1", "channels/notes-v1.yaml", ""),
    (NOTES, "users.i¦d", "tables/users.yaml", "id"),
    ("project.yaml", "env.JWT_¦SECRET", "project.yaml", "JWT_SECRET"),
]


def text_at(text: str, place: lsp.Range) -> str:
    line = text.splitlines()[place.start.line]
    return line[place.start.character : place.end.character]


@pytest.mark.long
def test_definitions_are_found(project: Path) -> None:
    async def test(editor: Client) -> None:
        for path, at, target, word in DEFINITIONS:
            place = typed(editor, path, at.replace("¦", ""), at)
            params = lsp.DefinitionParams(editor.document(path), place)
            found = await editor.client.text_document_definition_async(params)
            assert isinstance(found, list | tuple), at
            (one,) = found
            assert isinstance(one, lsp.Location)
            assert one.uri == editor.uri(target), at
            assert text_at(editor.read(target), one.range) == word

    edit(project, test)


@pytest.mark.long
def test_uses_of_a_table_are_found_in_all_files(project: Path) -> None:
    async def test(editor: Client) -> None:
        place = typed(editor, LIST, "table: notes", "table: no¦tes")
        context = lsp.ReferenceContext(include_declaration=True)
        params = lsp.ReferenceParams(context, editor.document(LIST), place)
        found = await editor.client.text_document_references_async(params)
        names = ("create", "delete", "get", "list", "update")
        wanted = {editor.uri(f"functions/notes/{name}.yaml") for name in names}
        assert {one.uri for one in found or ()} == {*wanted, editor.uri("tests/notes/get.yaml")}

    edit(project, test)
