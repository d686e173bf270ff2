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
from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from bbops.compile.release import validate
from bbops.lsp.folder import Folder
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
        capabilities = lsp.ClientCapabilities(general=general)
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


@pytest.mark.parametrize(
    ("old", "new", "underlined"),
    [
        ("orderBy:", "orderBi:", "orderBi"),
        ("table: notes", "table: nots", "nots"),
        ("done == query.done", "dune == query.done", "dune"),
        ("- find:", "- fnd:", "fnd"),
        ("[id, title,", "[id, titel,", "titel"),
        ("page?: { type: integer", "page?: { type: intger", "intger"),
    ],
)
def test_a_mistake_is_underlined_exactly(
    project: Path, old: str, new: str, underlined: str
) -> None:
    async def test(editor: Client) -> None:
        text = editor.show(LIST, editor.read(LIST).replace(old, new, 1))
        await editor.until(LIST, bool)
        assert underlined in [marked(text, one) for one in editor.told[LIST]]

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


@pytest.mark.parametrize(
    "text",
    ["", "\t", "steps: [", "a: 'b", "- - -", "{{", "\ufeff", "\x00", "steps:\n  - 😀: &a *a"],
)
def test_a_text_that_is_no_yaml_breaks_nothing(project: Path, text: str) -> None:
    async def test(editor: Client) -> None:
        good = editor.show(LIST)
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
