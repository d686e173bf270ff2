"""An editor's projects and open documents: each document's project, and its next check."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from lsprotocol import types as lsp
from pygls import uris
from pygls.lsp.server import LanguageServer

from bbops import __version__
from bbops.base.errors import BbopsError
from bbops.interfaces.lsp.diagnostics import to_lsp
from bbops.interfaces.lsp.project import EditorProject
from bbops.interfaces.lsp.text import UTF16, SourceLines

DELAY_SECONDS = 0.15
"""The pause in typing after which a project is checked."""


@dataclass(frozen=True, slots=True)
class EditorPosition:
    """A position in a file of a project, from a request of an editor.

    Attributes:
        path: the file's path, relative to the project's root.
        offset: the offset of the character after the cursor.
    """

    folder: EditorProject
    path: str
    lines: SourceLines
    offset: int


class Editor(LanguageServer):
    """A language server with the projects and open documents of an editor."""

    def __init__(self) -> None:
        super().__init__(
            "bbops", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Full
        )
        self.folders: dict[Path, EditorProject] = {}
        self._waiting: dict[Path, asyncio.Task[None]] = {}

    # ---- documents
    def find(self, uri: str) -> tuple[EditorProject, str] | None:
        """Return the project of a document and the document's path in it."""
        file = uris.to_fs_path(uri) if uri.startswith("file:") else None
        if file is None:
            return None
        path = Path(file)
        roots = [root for root in path.parents if (root / "project.yaml").exists()]
        if not roots and path.name == "project.yaml":
            roots = [path.parent]  # not saved yet
        if not roots:
            return None
        folder = self.folders.setdefault(roots[0], EditorProject.at(roots[0]))
        return folder, PurePosixPath(path.relative_to(roots[0])).as_posix()

    def locate(self, uri: str, position: lsp.Position) -> EditorPosition | None:
        """Return a position as an offset in a project's file; None outside projects."""
        location = self.find(uri)
        if location is None:
            return None
        folder, path = location
        lines = self.lines(folder.source(path))
        return EditorPosition(folder, path, lines, lines.offset(position))

    def lines(self, source: str) -> SourceLines:
        """Return the lines of a text, counted in the position encoding of this editor."""
        encoding = self.workspace.position_encoding or UTF16
        return SourceLines(source, str(getattr(encoding, "value", encoding)))

    def uri(self, folder: EditorProject, path: str) -> str:
        """Return the URI of a project's file."""
        return uris.from_fs_path(str(folder.root / path)) or ""

    # ---- checking
    def update(self, uri: str, text: str | None) -> None:
        """Set the text of a document, None when it was closed; check its project soon."""
        location = self.find(uri)
        if location is None:
            return
        folder, path = location
        if text is None:
            folder.files.drop(path)
        else:
            folder.files.put(path, text)
        self.check_soon(folder)

    def check_soon(self, folder: EditorProject) -> None:
        """Check a project after a pause in typing."""
        folder.is_stale = True
        if waiting := self._waiting.pop(folder.root, None):
            waiting.cancel()
        self._waiting[folder.root] = asyncio.get_running_loop().create_task(self._wait(folder))

    async def _wait(self, folder: EditorProject) -> None:
        await asyncio.sleep(DELAY_SECONDS)
        self.publish(folder)

    def publish(self, folder: EditorProject) -> None:
        """Check a project and send the diagnostics of each file that has or had some."""
        try:
            diagnostics = folder.refresh()
        except BbopsError as error:  # the folder was deleted
            logging.getLogger(__name__).warning("%s", error)
            return
        for path in sorted({*diagnostics, *folder.published}):
            document = folder.document(path)
            lines = self.lines(document.source or folder.source(path))
            items = [to_lsp(item, document, lines) for item in diagnostics.get(path, ())]
            # Also without changes: the text around a diagnostic may have moved.
            self.text_document_publish_diagnostics(
                lsp.PublishDiagnosticsParams(self.uri(folder, path), items)
            )
        folder.published = diagnostics
