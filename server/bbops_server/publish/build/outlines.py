"""Render the outlines of commits, with a cache, and read their files."""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec

from bbops.base.diagnostics import JsonDiagnostic
from bbops.compiler.compile.release import check
from bbops.language.resources.project import Engine
from bbops.review.outline.describe import outline_of
from bbops_server.process.messages.builds import (
    ProjectFileAnswer,
    ReadProjectFile,
    WriteOutline,
    WrittenOutline,
)
from bbops_server.publish.build.sources import OpenSources, SourceFields

MAX_OUTLINES: Final = 16
"""Cached outlines; the oldest is dropped first."""
MAX_FILE_BYTES: Final = 1 << 20


class OutlineRenderer:
    """Renders outlines. For one thread only, like its sources."""

    def __init__(self, sources: OpenSources) -> None:
        self._sources = sources
        self._outlines: dict[tuple[str, ...], WrittenOutline] = {}

    def answer(self, request: WriteOutline) -> WrittenOutline:
        """Answer a request of the parent. Raises: GitError: the commit cannot be read."""
        source = request.source
        fields = (str(source.get(field, "")) for field in ("repository", "path", "commit"))
        key = (request.engine, *fields)
        if source["kind"] == "git" and key in self._outlines:
            return self._outlines[key]
        written = self._write(source, request.engine)
        if len(self._outlines) >= MAX_OUTLINES:
            del self._outlines[next(iter(self._outlines))]
        self._outlines[key] = written
        return written

    def read(self, request: ReadProjectFile) -> ProjectFileAnswer:
        """Return the text of a file. Raises: GitError: the commit cannot be read."""
        tree, _ = self._sources.open(request.source)
        entries = (entry for entry in tree.entries() if entry.path == request.path)
        entry = next(entries, None)
        if entry is None or entry.kind != "file" or entry.size_bytes > MAX_FILE_BYTES:
            return ProjectFileAnswer(None)
        data = tree.read([entry.blob]).get(entry.blob, b"")
        return ProjectFileAnswer(data.decode(errors="replace"))

    def _write(self, source: SourceFields, engine: Engine) -> WrittenOutline:
        tree, cache = self._sources.open(source)
        project, diagnostics = check(tree, cache, database=engine, off=(), base=tree)
        commit = str(source.get("commit", ""))
        if project is None:
            return WrittenOutline("", "", commit, [*map(JsonDiagnostic.of, diagnostics)])
        text = msgspec.json.encode(outline_of(project, diagnostics))
        return WrittenOutline(text.decode(), hashlib.sha256(text).hexdigest(), commit, [])
