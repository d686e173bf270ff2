"""API contracts and outlines of commits, rendered once."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Final

import msgspec

from bbops.base.errors import ProjectError, ServerError
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.compiler.compile.release import check
from bbops.language.resources.project import Engine
from bbops.review.contract.contract import Contract
from bbops.review.contract.describe import describe, read_pages
from bbops.review.contract.files import FORMATS
from bbops.review.outline.describe import outline_of
from bbops_server.process.messages.builds import (
    ProjectFileAnswer,
    ReadProjectFile,
    WriteContract,
    WriteOutline,
    WrittenContract,
    WrittenOutline,
)
from bbops_server.publish.build.sources import OpenSources, SourceFields

MAX_CONTRACTS: Final = 16
"""Cached contracts; the oldest is dropped first."""


class ContractRenderer:
    """Renders contracts. For one thread only, like its sources."""

    def __init__(self, sources: OpenSources) -> None:
        self._sources = sources
        self._contracts: dict[tuple[str, ...], Contract] = {}

    def answer(self, request: WriteContract) -> WrittenContract:
        """Answer a request of the parent. Raises as `write`."""
        return self.write(request.source, request.form, request.url, request.engine)

    def write(self, source: SourceFields, form: str, url: str, engine: Engine) -> WrittenContract:
        """Return the text of a contract.

        Args:
            source: the source of the commit.
            form: the format.
            url: the URL of the API.
            engine: the kind of its database.

        Raises:
            GitError: the commit cannot be read.
            ProjectError: the commit has errors.
            ServerError: the format does not exist.
        """
        if form not in FORMATS and form != COMPLETE:
            raise ServerError(f"there is no format '{form}'", hint=f"one of: {', '.join(FORMATS)}")
        described = self._describe(source, engine, form if form == COMPLETE else "")
        contract = replace(described, server=url.rstrip("/"))
        written = FORMATS["json" if form == COMPLETE else form]
        return WrittenContract(written.render(contract), written.content_type, contract.digest)

    def _describe(self, source: SourceFields, engine: Engine, extent: str) -> Contract:
        fields = (str(source.get(field, "")) for field in ("repository", "path", "commit"))
        key = (engine, extent, *fields)
        if source["kind"] == "git" and key in self._contracts:
            return self._contracts[key]
        tree, cache = self._sources.open(source)
        project, diagnostics = check(tree, cache, database=engine, off=(), base=tree)
        if project is None:
            raise ProjectError(diagnostics)
        if len(self._contracts) >= MAX_CONTRACTS:
            del self._contracts[next(iter(self._contracts))]
        self._contracts[key] = contract = describe(
            project, read_pages(tree), hidden=extent == COMPLETE
        )
        return contract


COMPLETE: Final = "complete"
"""The format `json` with hidden endpoints, for the Playground; it is never published."""


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
