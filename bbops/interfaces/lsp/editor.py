"""An editor's projects and open documents: which project each is of, and when it is checked."""

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
from bbops.interfaces.lsp.folder import Folder
from bbops.interfaces.lsp.text import UTF16, Lines

DELAY_SECONDS = 0.15
"""How long nothing must be typed before a project is checked."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What an editor asks about: a place in a file of a project.

    Attributes:
        path: the file's, from the project's root.
        offset: of the character behind the cursor.
    """

    folder: Folder
    path: str
    lines: Lines
    offset: int


class Editor(LanguageServer):
    """Keeps the projects of one editor and their open documents."""

    def __init__(self) -> None:
        super().__init__(
            "bbops", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Full
        )
        self.folders: dict[Path, Folder] = {}
        self._waiting: dict[Path, asyncio.Task[None]] = {}

    # ---- documents
    def find(self, uri: str) -> tuple[Folder, str] | None:
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
        folder = self.folders.setdefault(roots[0], Folder.at(roots[0]))
        return folder, PurePosixPath(path.relative_to(roots[0])).as_posix()

    def ask(self, uri: str, position: lsp.Position) -> Asked | None:
        """Return what a position in a document means here; None outside projects."""
        found = self.find(uri)
        if found is None:
            return None
        folder, path = found
        lines = self.lines(folder.source(path))
        return Asked(folder, path, lines, lines.offset(position))

    def lines(self, source: str) -> Lines:
        """Return the lines of a text, counted as this editor counts."""
        encoding = self.workspace.position_encoding or UTF16
        return Lines(source, str(getattr(encoding, "value", encoding)))

    def uri(self, folder: Folder, path: str) -> str:
        """Return the address of a project's file."""
        return uris.from_fs_path(str(folder.root / path)) or ""

    # ---- checking
    def take(self, uri: str, text: str | None) -> None:
        """Take what a document holds now, None when it was closed; check its project soon."""
        found = self.find(uri)
        if found is None:
            return
        folder, path = found
        if text is None:
            folder.files.drop(path)
        else:
            folder.files.put(path, text)
        self.check_soon(folder)

    def check_soon(self, folder: Folder) -> None:
        """Check a project when nothing was typed for a moment."""
        folder.is_stale = True
        if waiting := self._waiting.pop(folder.root, None):
            waiting.cancel()
        self._waiting[folder.root] = asyncio.get_running_loop().create_task(self._wait(folder))

    async def _wait(self, folder: Folder) -> None:
        await asyncio.sleep(DELAY_SECONDS)
        self.publish(folder)

    def publish(self, folder: Folder) -> None:
        """Check a project and send what changed in the findings, file by file."""
        try:
            found = folder.refresh()
        except BbopsError as error:  # the folder has gone
            logging.getLogger(__name__).warning("%s", error)
            return
        for path in sorted({*found, *folder.said}):
            document = folder.document(path)
            lines = self.lines(document.source or folder.source(path))
            told = [to_lsp(one, document, lines) for one in found.get(path, ())]
            # also what was said before: the text around it may have moved
            self.text_document_publish_diagnostics(
                lsp.PublishDiagnosticsParams(self.uri(folder, path), told)
            )
        folder.said = found
