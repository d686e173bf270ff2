"""Outlines of live commits and drafts, in memory for the pages that show them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import msgspec
from litestar.exceptions import NotFoundException

from bbops.base.errors import BbopsError
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.review.outline.outline import Outline
from bbops_server.process.messages.builds import WrittenOutline
from bbops_server.publish.drafts.drafts import ProjectDrafts
from bbops_server.publish.projects.projects import ServerProjects

MAX_OUTLINES: Final = 32
"""Outlines to keep; the one unused for the longest time is dropped first."""

_PREPARE_SECONDS: Final = 0.5
"""The longest wait of a page for the numbers in its side bar."""

_Key = tuple[str, str]
"""A project, and the slug of a draft; empty for live."""


class CommitOutline(msgspec.Struct, frozen=True):
    """The outline of a commit, or the reason why it has none.

    Attributes:
        commit: the commit; empty if the project is a folder, or has no commit.
        digest: identifies the outline.
        outline: None if the commit has errors or cannot be read.
        diagnostics: the errors of the commit.
        message: the reason for a missing outline, if there are no errors.
    """

    commit: str
    digest: str
    outline: Outline | None
    diagnostics: list[JsonDiagnostic]
    message: str = ""


class OutlineCache:
    """Outlines by project and draft; each revision is read once, however many pages wait for it."""

    def __init__(self, status: Callable[[], ServerProjects]) -> None:
        self._status = status
        self._known: dict[_Key, tuple[str, CommitOutline]] = {}
        self._pending: dict[tuple[str, str, str], asyncio.Task[CommitOutline]] = {}

    def peek(self, name: str, slug: str = "") -> Outline | None:
        """Return the last outline that was read, which may be of an older commit. No I/O."""
        found = self._known.get((name, slug))
        return found[1].outline if found else None

    async def find(self, name: str, slug: str = "") -> CommitOutline:
        """Return the outline of the live commit, or of a draft's newest one.

        Raises:
            NotFoundException: the project or the draft does not exist.
        """
        revision, key = self._find_revision(name, slug), (name, slug)
        known = self._known.pop(key, None)
        if known is not None:
            self._known[key] = known  # the newest use is last
            if known[0] == revision:
                return known[1]
        waiting = (*key, revision)
        if waiting not in self._pending:
            task = self._pending[waiting] = asyncio.create_task(self._read(name, slug, revision))
            task.add_done_callback(lambda _: self._pending.pop(waiting, None))
        return await asyncio.shield(self._pending[waiting])  # others may wait for it too

    async def prepare(self, name: str, slug: str = "") -> None:
        """Read an outline for `peek` if none is known; a slow one is left to later pages."""
        if (name, slug) not in self._known:
            with suppress(NotFoundException, TimeoutError):
                async with asyncio.timeout(_PREPARE_SECONDS):
                    await self.find(name, slug)

    def drafts_of(self, name: str) -> ProjectDrafts:
        """Return the drafts of a project. Raises: NotFoundException: there is no project."""
        drafts = self._status().drafts(name)
        if drafts is None:
            raise NotFoundException(f"there is no project '{name}'")
        return drafts

    def find_slug(self, name: str, draft: str) -> str:
        """Return the slug of a draft by slug or branch; empty for live, which is empty.

        Raises:
            NotFoundException: the project or the draft does not exist.
        """
        if not draft:
            return ""
        found = self.drafts_of(name).find(draft)
        if found is None:
            raise NotFoundException(f"project '{name}' has no draft '{draft}'")
        return found.slug

    def _find_revision(self, name: str, slug: str) -> str:
        if slug:
            draft = self.drafts_of(name).find(slug)
            if draft is None:
                raise NotFoundException(f"project '{name}' has no draft '{slug}'")
            return draft.commit
        for project in self._status().projects():
            if project.name == name:
                return project.applied_revision or ""
        raise NotFoundException(f"there is no project '{name}'")

    async def _read(self, name: str, slug: str, revision: str) -> CommitOutline:
        try:
            rendered = await self._render(name, slug)
        except BbopsError as error:  # not kept: the next request tries again
            message = f"{error.message}; {error.hint}" if error.hint else error.message
            return CommitOutline("", "", None, self._find_errors(name, slug), message)
        found = await asyncio.to_thread(_decode, rendered)
        self._known[name, slug] = revision, found
        while len(self._known) > MAX_OUTLINES:
            del self._known[next(iter(self._known))]
        return found

    async def _render(self, name: str, slug: str) -> WrittenOutline:
        if slug:
            drafts = self.drafts_of(name)
            draft = drafts.find(slug)
            if draft is None:
                raise NotFoundException(f"project '{name}' has no draft '{slug}'")
            return await drafts.outline(draft.slug)
        rendered = await self._status().outline(name)
        if rendered is None:
            raise NotFoundException(f"there is no project '{name}'")
        return rendered

    def _find_errors(self, name: str, slug: str) -> list[JsonDiagnostic]:
        """Return the errors in the status of a project or draft."""
        if slug:
            draft = self.drafts_of(name).find(slug)
            found = draft.diagnostics if draft is not None else []
        else:
            statuses = (project for project in self._status().projects() if project.name == name)
            found = next((status.diagnostics for status in statuses), [])
        return [diagnostic for diagnostic in found if diagnostic.severity == "error"]


def _decode(rendered: WrittenOutline) -> CommitOutline:
    outline = msgspec.json.decode(rendered.text, type=Outline) if rendered.text else None
    return CommitOutline(rendered.commit, rendered.digest, outline, rendered.diagnostics)
