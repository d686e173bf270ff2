"""What `bbops lsp` offers where the cursor is."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types as lsp

from tests.lsp.editing import CREATE, ENDPOINT, LIST, LOGIN, NOTES, UPDATE, Client, edit, typed

COMPLETIONS = [
    # keys
    (LIST, "      limit:", "      wh¦\n      limit:", {"one"}, {"limit", "table", "steps"}),
    (LIST, "  - find:", "  - fi¦\n  - find:", {"find", "return", "as", "sms.sendSms"}, {"limit"}),
    (LIST, "  - find:", "  - ¦\n  - find:", {"find", "return"}, set()),
    (LIST, "query:", "inp¦\nquery:", {"input", "output"}, {"query", "steps", "find"}),
    (LOGIN, "hash: ${ vars.user?.password_hash }", "¦", {"hash"}, {"password", "as"}),
    (NOTES, "{ type: text,", "{ type: text, pri¦,", {"private", "auto"}, {"type"}),
    ("project.yaml", "auth:\n", "auth:\n  ¦\n", {"algorithm"}, {"signingKey", "env"}),
    (CREATE, "        user_id:", "        ¦\n        user_id:", {"done"}, {"user_id", "title"}),
    # words and names
    (ENDPOINT, "method: GET", "method: ¦", {"GET", "DELETE"}, set()),
    (ENDPOINT, "notes/list", "notes/¦", {"notes/list", "auth/login"}, {"notes-v1"}),
    (ENDPOINT, "channel: notes-v1", "channel: ¦", {"notes-v1"}, {"notes/list"}),
    (LIST, "table: notes", "table: ¦", {"notes", "users"}, {"id"}),
    (LIST, "[id, title, done", "[id, ¦", {"title", "user_id"}, {"email"}),
    (LIST, "created_at.desc", "cr¦", {"created_at", "user.name.desc"}, {"user.password_hash"}),
    (NOTES, "users.id", "u¦", {"users.id", "users.email"}, {"users.name"}),
    (NOTES, "type: text", "type: te¦", {"text", "datetime"}, set()),
    (LIST, "done?: boolean", "done?: bo¦", {"boolean", "email"}, {"bigint"}),
    # expressions
    (LIST, "user_id == vars.auth.userId", "us¦", {"user_id", "vars", "now", "query"}, {"email"}),
    (LOGIN, "email == input.email | lower", "¦", {"notes", "exists", "count", "list"}, {"title"}),
    (LIST, "vars.auth.userId", "vars.auth.¦", {"userId", "claims"}, {"user_id"}),
    (LIST, "vars.auth.userId and (", "vars.auth.userId and (qu¦", {"query", "done"}, set()),
    (LIST, "${ vars.notes }", "${ vars.¦", {"notes", "auth"}, {"user"}),
    (LIST, "${ query.perPage }", "${ query.¦ }", {"page", "perPage", "done"}, {"id"}),
    (LOGIN, "${ vars.user.id }", "${ vars.user.¦", {"id", "password_hash"}, {"title"}),
    (LOGIN, "vars.user.role }", "vars.user.role | ¦", {"lower", "default"}, {"round", "first"}),
    (UPDATE, "pick('title', 'body'", "pick('¦'", {"title", "body"}, {"done", "user_id"}),
    ("project.yaml", "${ env.", "${ env.¦", {"JWT_SECRET"}, {"vars"}),
]


@pytest.mark.long
def test_completion_offers_what_may_stand_there(project: Path) -> None:
    async def test(editor: Client) -> None:
        for path, old, new, wanted, unwanted in COMPLETIONS:
            at = typed(editor, path, old, new)
            params = lsp.CompletionParams(editor.document(path), at)
            found = await editor.client.text_document_completion_async(params)
            labels = {one.label for one in found or ()}
            assert wanted <= labels, (new, labels)
            assert not unwanted & labels, (new, labels)
            editor.show(path, editor.read(path))

    edit(project, test)


@pytest.mark.long
def test_completion_works_in_a_file_that_is_broken_elsewhere(project: Path) -> None:
    async def test(editor: Client) -> None:
        text = editor.read(LOGIN).replace("  - generateAuthToken:", "  - generateAuthToken: [")
        text = text.replace("password: ${ input.password }", "password: ${ input.¦", 1)
        before, _, after = text.partition("¦")
        editor.show(LOGIN, before + after)
        at = lsp.Position(before.count("\n"), len(before.rpartition("\n")[2]))
        params = lsp.CompletionParams(editor.document(LOGIN), at)
        found = await editor.client.text_document_completion_async(params)
        assert [one.label for one in found or ()] == ["email", "password"]

    edit(project, test)


@pytest.mark.long
def test_completion_works_beside_a_key_with_nothing_behind_it(project: Path) -> None:
    async def test(editor: Client) -> None:
        text = editor.read(LIST).replace("      where: user_id ==", "      where:\n      # ", 1)
        text = text.replace("[id, title, done", "[id, ¦", 1)
        before, _, after = text.partition("¦")
        editor.show(LIST, before + after)
        at = lsp.Position(before.count("\n"), len(before.rpartition("\n")[2]))
        params = lsp.CompletionParams(editor.document(LIST), at)
        found = await editor.client.text_document_completion_async(params)
        assert {"title", "user_id"} <= {one.label for one in found or ()}

    edit(project, test)


@pytest.mark.long
def test_a_completion_is_put_in_place_of_the_word(project: Path) -> None:
    async def test(editor: Client) -> None:
        at = typed(editor, ENDPOINT, "notes/list", "notes/cr¦")
        params = lsp.CompletionParams(editor.document(ENDPOINT), at)
        found = await editor.client.text_document_completion_async(params)
        (one,) = (item for item in found or () if item.label == "notes/create")
        assert isinstance(one.text_edit, lsp.TextEdit)
        start, end = one.text_edit.range.start, one.text_edit.range.end
        assert (start.character, end) == (len("function: "), at)
        assert one.text_edit.new_text == "notes/create"

    edit(project, test)
