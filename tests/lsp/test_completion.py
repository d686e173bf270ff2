"""What `bbops lsp` offers where the cursor is."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types as lsp

from tests.lsp.editing import CREATE, ENDPOINT, LIST, LOGIN, NOTES, UPDATE, Client, edit, typed

SELECT = "select: [id, title, done, created_at]"
COMPLETIONS = [
    # keys
    (LIST, "      limit:", "      wh¦\n      limit:", {"one"}, {"limit", "table", "steps"}),
    (LIST, "  - find:", "  - fi¦\n  - find:", {"find", "return", "as"}, {"limit"}),
    (LIST, "  - find:", "  - ¦\n  - find:", {"find", "return"}, set()),
    (LIST, "query:", "inp¦\nquery:", {"input", "output"}, {"query", "steps", "find"}),
    (LOGIN, "hash: ${ vars.user?.password_hash }", "¦", {"hash"}, {"password", "as"}),
    (NOTES, "{ type: text,", "{ type: text, pri¦,", {"private", "auto"}, {"type"}),
    ("project.yaml", "auth:\n", "auth:\n  ¦\n", {"algorithm"}, {"signingKey", "env"}),
    (CREATE, "        user_id:", "        ¦\n        user_id:", {"done"}, {"user_id", "title"}),
    (LIST, "  - find:", "  - return:\n      ¦\n  - find:", {"stream", "file"}, {"find"}),
    (
        LIST,
        "  - find:",
        "  - return:\n      stream:\n        ¦\n  - find:",
        {"timeout"},
        {"value"},
    ),
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
    (
        LIST,
        "notes: ${ vars.notes }",
        "notes: ${ vars.notes | map(n => n.¦ }",
        {"id", "title"},
        {"user_id"},
    ),
    (
        LIST,
        "notes: ${ vars.notes }",
        "notes: ${ vars.notes | map(n => q¦) }",
        {"n", "query"},
        {"id"},
    ),
    (
        LIST,
        "notes: ${ vars.notes }",
        "notes: ${ vars.notes | sort(¦) }",
        {"row => …", "query"},
        set(),
    ),
    (LIST, "notes: ${ vars.notes }", "notes: ${ vars.notes | ¦ }", {"groupBy", "sum"}, {"upper"}),
    (LIST, "  - find:", "  - ¦\n  - find:", {"switch", "break", "continue"}, set()),
    ("project.yaml", "${ env.", "${ env.¦", {"JWT_SECRET"}, {"vars"}),
    # reports
    (LIST, SELECT, "select: { a: ti¦ }", {"title", "user", "rank"}, {"email"}),
    (LIST, SELECT, "select: { a: user.¦ }", {"id", "email"}, {"title"}),
    (LIST, SELECT, "select: { a: title | ¦ }", {"upper"}, {"date"}),
    (LIST, SELECT, "select: { a: created_at | ¦ }", {"date", "difference"}, {"upper"}),
    (LIST, SELECT, "aggregate: { gr¦ }", {"groupBy", "having", "values"}, {"where"}),
    (LIST, SELECT, "aggregate: { groupBy: [ti¦], values: { n: count() } }", {"title"}, {"email"}),
    (
        LIST,
        SELECT,
        "aggregate: { groupBy: { a: user.¦ }, values: { n: count() } }",
        {"email"},
        {"title"},
    ),
    (LIST, SELECT, "aggregate: { values: { n: ¦ } }", {"countDistinct", "avg"}, {"where"}),
    (LIST, SELECT, "aggregate: { values: { n: count(¦) } }", {"done", "title"}, {"email"}),
    (LIST, SELECT, "aggregate: { values: { n: count() }, having: ¦ }", {"n", "query"}, {"title"}),
    (
        LOGIN,
        "      one: true",
        "      select: { last: { find: { relation: ¦ } } }\n      one: true",
        {"notes"},
        {"id"},
    ),
    (
        LOGIN,
        "      one: true",
        "      select: { last: { find: { relation: notes, ¦ } } }\n      one: true",
        {"where", "limit", "orderBy", "select"},
        {"relation", "table"},
    ),
    (
        LOGIN,
        "      one: true",
        "      select: { last: { find: { relation: notes, where: ¦ } } }\n      one: true",
        {"done", "title"},
        set(),
    ),
    (
        LOGIN,
        "      one: true",
        "      select: { last: { find: { relation: notes, select: [ti¦] } } }\n      one: true",
        {"title", "done"},
        {"email"},
    ),
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


DOCUMENTED = [
    (NOTES, "type: text", "type: da¦", "datetime", "`timestamp with time zone` on PostgreSQL"),
    (LIST, "done?: boolean", "done?: ¦", "decimal", "no digit is lost"),
    (LIST, "user_id == vars.auth.userId", "no¦", "not", "The opposite of a condition."),
    (LIST, "user_id == vars.auth.userId", "no¦", "now", "The time, the same all through a step."),
    (LIST, SELECT, "select: { a: created_at | ¦ }", "date", "'06.03.2026 00:30'"),
]


@pytest.mark.long
def test_completion_shows_the_reference(project: Path) -> None:
    async def test(editor: Client) -> None:
        for path, old, new, label, text in DOCUMENTED:
            at = typed(editor, path, old, new)
            params = lsp.CompletionParams(editor.document(path), at)
            found = await editor.client.text_document_completion_async(params)
            (item,) = (one for one in found or () if one.label == label)
            assert isinstance(item.documentation, lsp.MarkupContent), label
            assert text in item.documentation.value
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
