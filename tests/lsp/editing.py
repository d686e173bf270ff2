"""An editor: it starts a language server, types into files, and keeps what it is told."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from bbops.interfaces.lsp.text import SourceLines
from tests.conftest import run
from tests.support.command_line import environment

WAIT_SECONDS = 20
OURS = (sys.executable, "-m", "bbops", "lsp")

UPDATE = "functions/notes/update.yaml"
LIST = "functions/notes/list.yaml"
LOGIN = "functions/auth/login.yaml"
NOTES = "tables/notes.yaml"
CREATE = "functions/notes/create.yaml"
ENDPOINT = "endpoints/notes/list.yaml"


class Client:
    """An editor: opens files of one folder, and keeps what it is told of them."""

    def __init__(
        self, root: Path, command: Sequence[str] = OURS, settings: Mapping[str, Any] | None = None
    ) -> None:
        self.root, self.told = root, dict[str, list[lsp.Diagnostic]]()
        self.command, self.settings = command, settings or {}
        self.news = asyncio.Condition()
        self.client = LanguageClient("test", "1")
        self.versions: dict[str, int] = {}

        @self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        async def take(params: lsp.PublishDiagnosticsParams) -> None:
            async with self.news:
                path = Path(params.uri.removeprefix("file://")).relative_to(self.root).as_posix()
                self.told[path] = list(params.diagnostics)
                self.news.notify_all()

        @self.client.feature(lsp.WORKSPACE_CONFIGURATION)
        def say(params: lsp.ConfigurationParams) -> list[Any]:
            return [self.settings.get(one.section or "") for one in params.items]

        @self.client.feature(lsp.CLIENT_REGISTER_CAPABILITY)
        def allow(params: lsp.RegistrationParams) -> None:
            pass

    async def start(self, *, encodings: list[Any] | None = None) -> None:
        await self.client.start_io(*self.command, env=environment())
        general = lsp.GeneralClientCapabilities(position_encodings=encodings)
        moves = lsp.WorkspaceEditClientCapabilities(
            document_changes=True, resource_operations=[lsp.ResourceOperationKind.Rename]
        )
        workspace = lsp.WorkspaceClientCapabilities(
            workspace_edit=moves, configuration=bool(self.settings), workspace_folders=True
        )
        capabilities = lsp.ClientCapabilities(general=general, workspace=workspace)
        folders = [lsp.WorkspaceFolder(self.uri(""), self.root.name)]
        params = lsp.InitializeParams(
            capabilities, root_uri=self.uri(""), workspace_folders=folders
        )
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


@asynccontextmanager
async def editing(
    root: Path, *, encodings: list[Any] | None = None, **options: Any
) -> AsyncIterator[Client]:
    """Start a server in a folder, by default `bbops lsp`, and stop it again."""
    client = Client(root, **options)
    await client.start(encodings=encodings)
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


def typed(editor: Client, path: str, old: str, new: str) -> lsp.Position:
    """Type `new`, in which '¦' is the cursor, over `old`; return where the cursor is then."""
    text = editor.read(path)
    assert old in text
    before, _, after = text.replace(old, new, 1).partition("¦")
    editor.show(path, before + after)
    lines = before.split("\n")
    return lsp.Position(len(lines) - 1, len(lines[-1].encode("utf-16-le")) // 2)


def applied(text: str, edits: Any) -> str:
    """Return a text with edits, as an editor that counts in UTF-16 puts them in."""
    lines = SourceLines(text)
    places = [(lines.offset(e.range.start), lines.offset(e.range.end), e.new_text) for e in edits]
    for start, end, new in sorted(places, reverse=True):
        text = text[:start] + new + text[end:]
    return text
