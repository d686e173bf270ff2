"""Write what a commit publishes to its callers; a commit that was described once is remembered."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from bbops.base.errors import ProjectError, ServerError
from bbops.build.compile.release import check
from bbops.language.resources.project import Engine
from bbops.review.contract.contract import Contract
from bbops.review.contract.describe import describe, read_pages
from bbops.review.contract.export import FORMATS
from bbops_server.process.messages.builds import (
    WriteContract,
    WrittenContract,
)
from bbops_server.publish.build.sources import Source, Sources

MOST_KEPT: Final = 16
"""Contracts of commits; the one asked for first goes first."""


class Contracts:
    """Describes commits. To be used by ONE thread only, as their sources are."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._kept: dict[tuple[str, ...], Contract] = {}

    def answer(self, request: WriteContract) -> WrittenContract:
        """Answer the parent. Raises as `write`."""
        return self.write(request.source, request.form, request.url, request.engine)

    def write(self, source: Source, form: str, url: str, engine: Engine) -> WrittenContract:
        """Return the text of a contract.

        Args:
            source: of the commit.
            form: a format.
            url: where it answers.
            engine: of its database.

        Raises:
            GitError: the commit cannot be read.
            ProjectError: it has mistakes.
            ServerError: there is no such format.
        """
        if form not in FORMATS:
            raise ServerError(f"there is no format '{form}'", hint=f"one of: {', '.join(FORMATS)}")
        found = replace(self._describe(source, engine), server=url.rstrip("/"))
        text = FORMATS[form].render(found)
        return WrittenContract(text, FORMATS[form].content_type, found.digest)

    def _describe(self, source: Source, engine: Engine) -> Contract:
        key = (engine, *(str(source.get(one, "")) for one in ("repository", "path", "commit")))
        if source["kind"] == "git" and key in self._kept:
            return self._kept[key]
        tree, cache = self._sources.open(source)
        project, found = check(tree, cache, database=engine, off=(), base=tree)
        if project is None:
            raise ProjectError(found)
        if len(self._kept) >= MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = contract = describe(project, read_pages(tree))
        return contract
