"""`bbops lsp` mends and formats, and no cursor and no half-typed text breaks it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types as lsp

from bbops.base.diagnostics import Diagnostic, Hint, Place, ReplaceWord
from bbops.interfaces.lsp.completion import complete
from bbops.interfaces.lsp.definition import define, uses
from bbops.interfaces.lsp.diagnostics import to_lsp
from bbops.interfaces.lsp.hover import explain
from bbops.interfaces.lsp.project import EditorProject
from bbops.interfaces.lsp.rename import site_of
from bbops.interfaces.lsp.text import SourceLines
from bbops.source.yaml.document import load
from tests.conftest import TEMPLATE
from tests.lsp.editing import ENDPOINT, LIST, LOGIN, NOTES, Client, edit


@pytest.mark.long
def test_a_did_you_mean_can_be_taken_with_a_key(project: Path) -> None:
    async def test(editor: Client) -> None:
        editor.show(LIST, editor.read(LIST).replace("table: notes", "table: nots"))
        await editor.until(LIST, bool)
        (finding,) = (one for one in editor.told[LIST] if one.code == "unknown-table")
        context = lsp.CodeActionContext([finding])
        params = lsp.CodeActionParams(editor.document(LIST), finding.range, context)
        found = await editor.client.text_document_code_action_async(params)
        (one,) = found or ()
        assert one.title == "write 'notes'"

    edit(project, test)


def test_a_cure_is_of_the_wrong_part_alone() -> None:
    source = "steps:\n- if: input.a&&input.b\n"
    place = Place("functions/run.yaml", 2, 14)
    found = Diagnostic(place, "expression-syntax", "'&&' is not an operator",
                       Hint("write 'and'", ReplaceWord("&&", "and")))  # fmt: skip
    told = to_lsp(found, load(source.encode()), SourceLines(source))
    assert told.data == {"write": " and ", "at": [1, 13, 1, 15]}


@pytest.mark.long
def test_a_file_is_formatted_as_fmt_does_it(project: Path) -> None:
    async def test(editor: Client) -> None:
        good = editor.read(LIST)
        options = lsp.FormattingOptions(tab_size=2, insert_spaces=True)
        params = lsp.DocumentFormattingParams(editor.document(LIST), options)
        editor.show(LIST, good.replace(": ", ":   ").replace("\n", "\r\n"))
        (one,) = await editor.client.text_document_formatting_async(params) or ()
        assert one.new_text == good
        for text in (good, "steps: ["):
            editor.show(LIST, text)
            assert not await editor.client.text_document_formatting_async(params)

    edit(project, test)


@pytest.mark.long
@settings(deadline=None, max_examples=50)
@given(data=st.data())
def test_no_cursor_and_no_half_typed_text_breaks_an_answer(data: st.DataObject) -> None:
    folder = EditorProject.at(TEMPLATE)
    path = data.draw(st.sampled_from([LIST, LOGIN, NOTES, "project.yaml", ENDPOINT]))
    text = folder.source(path)
    start = data.draw(st.integers(0, len(text)))
    size = data.draw(st.integers(0, 30))
    junk = data.draw(
        st.sampled_from(["", "${ ", "vars.", " | ", "'", "{", "- ", ": ", "😀", "\r\n"])
    )
    text = text[:start] + junk + text[start + size :]
    folder.files.put(path, text)
    at = start + len(junk)
    lines = SourceLines(text)
    complete(folder, path, lines, at)
    explain(folder, path, lines, at)
    define(folder, path, lines, at)
    uses(folder, path, lines, at)
    site_of(folder, path, lines, at)
