"""Render the API contracts of commits, with a cache."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from bbops.base.errors import ProjectError, ServerError
from bbops.compiler.compile.release import check
from bbops.language.resources.project import Engine
from bbops.review.contract.contract import Contract
from bbops.review.contract.describe import describe, read_pages
from bbops.review.contract.files import FORMATS
from bbops_server.process.messages.builds import (
    WriteContract,
    WrittenContract,
)
from bbops_server.publish.build.contract_formats import COMPLETE
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
