"""The language server as an editor meets it: a process, spoken to over stdin and stdout."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types as lsp
from pydantic import BaseModel
from pygls.exceptions import JsonRpcException
from pygls.lsp.client import LanguageClient

from bbops.check import validate
from bbops.check.flows import CheckedFlow, check_flow
from bbops.load import kinds
from bbops.lsp.completion import complete
from bbops.lsp.definition import define, uses
from bbops.lsp.folder import Folder
from bbops.lsp.hover import explain
from bbops.lsp.rename import site_of
from bbops.lsp.slots import Slot, field_slot, fields
from bbops.lsp.text import Lines
from bbops.lsp.words import about_key
from bbops.steps._base import step_kinds
from bbops.tree import FolderTree
from tests.conftest import TEMPLATE, run
from tests.test_cli import environment

WAIT_SECONDS = 20


class Client:
    """An editor: opens files of one folder, and keeps what it is told of them."""

    def __init__(self, root: Path) -> None:
        self.root, self.told = root, dict[str, list[lsp.Diagnostic]]()
        self.news = asyncio.Condition()
        self.client = LanguageClient("test", "1")
        self.versions: dict[str, int] = {}

        @self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        async def take(params: lsp.PublishDiagnosticsParams) -> None:
            async with self.news:
                path = Path(params.uri.removeprefix("file://")).relative_to(self.root).as_posix()
                self.told[path] = list(params.diagnostics)
                self.news.notify_all()

    async def start(self, *, encodings: list[Any] | None = None) -> None:
        await self.client.start_io(sys.executable, "-m", "bbops", "lsp", env=environment())
        general = lsp.GeneralClientCapabilities(position_encodings=encodings)
        moves = lsp.WorkspaceEditClientCapabilities(
            document_changes=True, resource_operations=[lsp.ResourceOperationKind.Rename]
        )
        workspace = lsp.WorkspaceClientCapabilities(workspace_edit=moves)
        capabilities = lsp.ClientCapabilities(general=general, workspace=workspace)
        params = lsp.InitializeParams(capabilities, root_uri=self.uri(""))
        self.server = (await self.client.initialize_async(params)).capabilities
        self.client.initialized(lsp.InitializedParams())

    async def stop(self) -> None:
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()

    def uri(self, path: str) -> str:
        return (self.root / path).resolve().as_uri()

    def document(self, path: str) -> lsp.TextDocumentIdentifier:
        return lsp.TextDocumentIdentifier(self.uri(path))

    def read(self, path: str) -> str:
        return (self.root / path).read_bytes().decode()

    def show(self, path: str, text: str | None = None) -> str:
        """Open a file, or change it when it is open; return its text."""
        text = self.read(path) if text is None else text
        self.versions[path] = version = self.versions.get(path, 0) + 1
        if version == 1:
            item = lsp.TextDocumentItem(self.uri(path), "yaml", version, text)
            self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        else:
            whole = lsp.TextDocumentContentChangeWholeDocument(text)
            named = lsp.VersionedTextDocumentIdentifier(version, self.uri(path))
            self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(named, [whole]))
        return text

    async def until(self, path: str, want: Callable[[list[lsp.Diagnostic]], bool]) -> list[str]:
        """Wait for findings of a file; return their codes."""
        async with self.news, asyncio.timeout(WAIT_SECONDS):
            await self.news.wait_for(lambda: path in self.told and want(self.told[path]))
        return [str(one.code) for one in self.told[path]]


Session = Callable[..., Any]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project that `bbops init` makes."""
    root = tmp_path.resolve() / "project"
    shutil.copytree(TEMPLATE, root)
    return root


@asynccontextmanager
async def editing(root: Path, **options: Any) -> AsyncIterator[Client]:
    client = Client(root)
    await client.start(**options)
    try:
        yield client
    finally:
        await client.stop()


def edit(root: Path, test: Callable[[Client], Coroutine[Any, Any, Any]], **options: Any) -> Any:
    """Run a test with an editor in a folder."""

    async def whole() -> Any:
        async with editing(root, **options) as client:
            return await test(client)

    return run(whole())


def marked(text: str, finding: lsp.Diagnostic) -> str:
    """Return what a finding underlines; its columns count UTF-16 units."""
    line = text.splitlines()[finding.range.start.line].encode("utf-16-le")
    start, end = finding.range.start.character, finding.range.end.character
    return line[2 * start : 2 * end].decode("utf-16-le")


UPDATE = "functions/notes/update.yaml"
LIST = "functions/notes/list.yaml"
LOGIN = "functions/auth/login.yaml"


# ---- mistakes
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


# ---- questions
NOTES = "tables/notes.yaml"
CREATE = "functions/notes/create.yaml"
ENDPOINT = "endpoints/notes/list.yaml"


def typed(editor: Client, path: str, old: str, new: str) -> lsp.Position:
    """Type `new`, in which '¦' is the cursor, over `old`; return where the cursor is then."""
    text = editor.read(path)
    assert old in text
    before, _, after = text.replace(old, new, 1).partition("¦")
    editor.show(path, before + after)
    lines = before.split("\n")
    return lsp.Position(len(lines) - 1, len(lines[-1].encode("utf-16-le")) // 2)


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
    (LIST, "created_at.desc", "cr¦", {"created_at", "created_at.desc"}, {"email"}),
    (NOTES, "users.id", "u¦", {"users.id", "users.email"}, {"users.name"}),
    (NOTES, "type: text", "type: te¦", {"text", "datetime"}, set()),
    (LIST, "done?: boolean", "done?: bo¦", {"boolean", "email"}, {"bigint"}),
    # expressions
    (LIST, "user_id == vars.auth.userId", "us¦", {"user_id", "vars", "now", "query"}, {"email"}),
    (LIST, "vars.auth.userId", "vars.auth.¦", {"userId", "claims"}, {"user_id"}),
    (LIST, "vars.auth.userId and (", "vars.auth.userId and (qu¦", {"query", "done"}, set()),
    (LIST, "${ vars.notes }", "${ vars.¦", {"notes", "auth"}, {"user"}),
    (LIST, "${ query.perPage }", "${ query.¦ }", {"page", "perPage", "done"}, {"id"}),
    (LOGIN, "${ vars.user.id }", "${ vars.user.¦", {"id", "password_hash"}, {"title"}),
    (LOGIN, "vars.user.role }", "vars.user.role | ¦", {"lower", "default"}, {"round", "first"}),
    (UPDATE, "pick('title', 'body'", "pick('¦'", {"title", "body"}, {"done", "user_id"}),
    ("project.yaml", "${ env.", "${ env.¦", {"JWT_SECRET"}, {"vars"}),
]


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


HOVERS = [
    (LOGIN, "vars.us¦er.id", ["user: map  (table 'users')", "password_hash: text  (private)"]),
    (LOGIN, "vars.user.i¦d", ["id: text", "`users.id` — type: uuid, primaryKey: true"]),
    (LOGIN, "lo¦wer", ["text | lower → text", "small letters", "'Ada' | lower"]),
    (LOGIN, "table: us¦ers", ["`tables/users.yaml`", "sign in"]),
    (LIST, "or¦derBy", ["`orderBy`", "column.desc"]),
    (LIST, "ti¦tle", ["`notes.title`", "maxLength: 120"]),
    (LIST, "fi¦nd", ["Give a list of rows", "```yaml"]),
    (LIST, "query.pa¦ge", ["page: integer"]),
    (ENDPOINT, "meth¦od", ["`GET`, `POST`"]),
    (ENDPOINT, "notes/l¦ist", ["newest first"]),
    (NOTES, "onDel¦ete", ["restrict"]),
]


def test_hovering_says_what_it_is(project: Path) -> None:
    async def test(editor: Client) -> None:
        for path, at, wanted in HOVERS:
            place = typed(editor, path, at.replace("¦", ""), at)
            params = lsp.HoverParams(editor.document(path), place)
            found = await editor.client.text_document_hover_async(params)
            assert found is not None, at
            assert isinstance(found.contents, lsp.MarkupContent)
            assert [text for text in wanted if text not in found.contents.value] == [], at

    edit(project, test)


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


def applied(text: str, edits: Any) -> str:
    """Return a text with edits, as an editor that counts in UTF-16 puts them in."""
    lines = Lines(text)
    places = [(lines.offset(e.range.start), lines.offset(e.range.end), e.new_text) for e in edits]
    for start, end, new in sorted(places, reverse=True):
        text = text[:start] + new + text[end:]
    return text


REFUSED = [
    (LOGIN, "${ vars.us¦er.id }", "token", "there already"),
    (LOGIN, "${ vars.us¦er.id }", "no name", "not a name"),
    (LOGIN, "verifyPass¦word", "people", "only variables"),
    (LIST, "table: no¦tes", "users", "already"),
    (LIST, "table: no¦tes", "No Tes", "not a name of tables"),
    ("functions/middleware/signed-in.yaml", "as: m¦e", "person", "behind this middleware"),
]


def test_a_rename_that_would_break_something_is_refused(project: Path) -> None:
    async def test(editor: Client) -> None:
        for path, place, name, message in REFUSED:
            at = typed(editor, path, place.replace("¦", ""), place)
            with pytest.raises(JsonRpcException, match=message):
                await editor.client.text_document_rename_async(
                    lsp.RenameParams(editor.document(path), at, name)
                )

    edit(project, test)


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


def test_every_key_of_the_language_is_explained() -> None:
    seen: set[type[BaseModel]] = set()
    models: list[type[BaseModel]] = [*kinds().values(), *step_kinds().values()]
    unexplained = []
    while models:
        model = models.pop()
        if model in seen:
            continue
        seen.add(model)
        for key in fields(model):
            unexplained += [] if about_key(model, key) else [f"{model.__name__}.{key}"]
            models += models_in(field_slot(model, key))
    assert unexplained == []


def models_in(slot: Slot) -> list[type[BaseModel]]:
    inner = [slot.inside({}, 0), slot.inside({}, "any")] if slot.model is None else []
    return [one.model for one in (slot, *inner) if one.model is not None]


@settings(deadline=None, max_examples=50)
@given(data=st.data())
def test_no_cursor_and_no_half_typed_text_breaks_an_answer(data: st.DataObject) -> None:
    folder = Folder.at(TEMPLATE)
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
    lines = Lines(text)
    complete(folder, path, lines, at)
    explain(folder, path, lines, at)
    define(folder, path, lines, at)
    uses(folder, path, lines, at)
    site_of(folder, path, lines, at)


# ---- checking again
EDITS = [
    (LIST, "vars.auth.userId", "vars.auth.nobody"),
    (LIST, "steps:", "steps: ["),
    ("tables/notes.yaml", "title:", "heading:"),
    ("tables/notes.yaml", "columns:", "columns"),
    ("tables/users.yaml", "role:", "rank:"),
    ("project.yaml", "JWT_SECRET", "OTHER_SECRET"),
    ("channels/notes-v1.yaml", "JWT", "None"),
    ("endpoints/notes/update.yaml", ":id", ":other"),
    ("functions/middleware/signed-in.yaml", "steps:", "query: { a: string }\nsteps:"),
]


def test_what_is_reused_after_an_edit_is_what_a_whole_check_finds(project: Path) -> None:
    folder = Folder.at(project)
    folder.refresh()
    for path, old, new in [*EDITS, *reversed(EDITS)]:
        text = folder.source(path)
        folder.files.put(path, text.replace(old, new) if old in text else text.replace(new, old))
        found = {one for group in folder.refresh().values() for one in group}
        assert found == set(validate(folder.files)[1]), (path, new)


def test_an_edit_of_one_function_leaves_the_results_of_others(project: Path) -> None:
    folder = Folder.at(project)
    folder.refresh()
    before = flows_of(folder)
    folder.files.put(LIST, folder.source(LIST) + "# more\n")
    folder.refresh()
    after = flows_of(folder)
    assert {name for name in after if after[name] is not before[name]} == {"notes/list"}


def flows_of(folder: Folder) -> dict[str, CheckedFlow]:
    assert folder.project is not None
    return {name: check_flow(folder.project, name) for name in folder.project.functions}


# ---- editors differ
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
