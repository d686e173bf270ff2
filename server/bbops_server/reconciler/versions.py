"""What people do to the history of a project: list it, stop it for a while, go back in it."""

from __future__ import annotations

from typing import Any

from bbops.errors import ServerError
from bbops_server.reconciler.freezing import find_freeze
from bbops_server.reconciler.loop import Reconciler
from bbops_server.reconciler.publications import read_publications
from bbops_server.reconciler.sources import BranchSource
from bbops_server.reconciler.status import Publication, now
from bbops_server.reconciler.suspension import (
    Suspension,
    read_suspension,
    resume,
    stalled_by,
    suspend,
)

ASK_SECONDS = 60


class Versions:
    """The history of one project."""

    def __init__(self, reconciler: Reconciler) -> None:
        self._reconciler = reconciler

    def publications(self, limit: int) -> list[Publication]:
        """Return the newest attempts, the newest last."""
        return read_publications(self._reconciler.workshop.project.state, limit)

    def suspend(self, who: str, reason: str) -> None:
        """Let nothing new go live. Raises: ServerError: the state folder takes nothing."""
        suspend(self._reconciler.workshop.project.state, Suspension(who, now(), reason))
        self._reconciler.reconcile()

    def resume(self) -> bool:
        """Let what is newest go live; return whether that was suspended. Raises as `suspend`."""
        was_suspended = resume(self._reconciler.workshop.project.state)
        if was_suspended:
            self._reconciler.reconcile()
        return was_suspended

    def exempt(self, who: str) -> str:
        """Let the newest revision through a freeze; return it. Raises: ServerError: none waits."""
        return self._reconciler.exempt(who)

    async def tags(self) -> list[dict[str, Any]]:
        """Return the versions in the repository, the newest first.

        Raises:
            BbopsError: it cannot be read.
        """
        asked = {"do": "versions", **self._about()}
        answer = await self._ask(asked)
        return list(answer["versions"])

    async def restore(self, version: str, only: list[str], who: str) -> dict[str, Any]:
        """Make a commit on top of the branch that restores a version; no branch holds it yet.

        Args:
            version: its name.
            only: resources; all without any.
            who: the e-mail address of whoever asks.

        Returns:
            `commit`, the `branch` it is for, and the `version`.

        Raises:
            BbopsError: there is no such version, nothing would change, or the repository is not
                here.
        """
        return await self._restore(version, only, who, moves=False)

    async def roll_back(self, version: str, only: list[str], who: str) -> dict[str, Any]:
        """Restore a version by a commit on the branch itself.

        Args, Raises: as `restore`; also where nothing may go live now, so that no commit stays on
        the branch that nobody sees live.
        """
        self._require_open(version)
        done = await self._restore(version, only, who, moves=True)
        self._reconciler.look()
        return done

    def _require_open(self, version: str) -> None:
        at = self._reconciler.workshop
        suspension, frozen = read_suspension(at.project.state), find_freeze(at)
        name = f" {at.project.name}" if at.project.name else ""
        if suspension is not None:
            message = stalled_by(suspension, at.project.name).message
            hint = f"nothing has changed; 'bbops resume{name}' first, then roll back"
            raise ServerError(message, hint=hint)
        if frozen is not None:
            raise ServerError(
                f"publications are frozen until {frozen.until:%Y-%m-%d %H:%M} UTC",
                hint=f"nothing has changed; 'bbops rollback {version}' makes the commit in a clone:"
                f" push it, and 'bbops resume{name} --despite-freeze' lets it through",
            )

    async def _restore(
        self, version: str, only: list[str], who: str, *, moves: bool
    ) -> dict[str, Any]:
        source = self._reconciler.source
        if not isinstance(source, BranchSource):
            raise ServerError(
                f"the repository is kept elsewhere: {source.shown}",
                hint=f"'bbops rollback {version}' in a clone makes the commit; push it",
            )
        asked = {
            "do": "roll back", **self._about(), "branch": source.branch,
            "version": version, "only": only, "who": who, "moves": moves,
        }  # fmt: skip
        return dict(await self._ask(asked))  # the loop sees a branch here move by itself

    def _about(self) -> dict[str, str]:
        workshop, source = self._reconciler.workshop, self._reconciler.source
        repository = getattr(source, "repository", getattr(source, "mirror", ""))
        return {"repository": str(repository), "folder": workshop.project.path}

    async def _ask(self, asked: dict[str, Any]) -> dict[str, Any]:
        build = self._reconciler.workshop.plane.build
        return await build.ask(asked, timeout_seconds=ASK_SECONDS)
