"""A project or draft as a visitor uses it: requests to its processes, and the audit log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Concatenate, Final, ParamSpec

from litestar.exceptions import NotFoundException

from bbops.base.errors import BbopsError
from bbops_server.control_plane.web.frame import asked_draft
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.visit import Visit
from bbops_server.process.messages.request import A, RequestMessage
from bbops_server.publish.processes.project_client import ProjectClient

P = ParamSpec("P")

PROJECT: Final = "/api/projects/{name:str}"
DRAFT: Final = f"{PROJECT}/drafts/{{slug:str}}"


@dataclass(frozen=True, slots=True)
class VisitedProject:
    """A live project, or one of its drafts.

    Attributes:
        label: its name in the audit log.
        draft: the slug of the draft; empty for live.
    """

    visit: Visit
    client: ProjectClient
    label: str
    draft: str = ""

    @classmethod
    def open(cls, visit: Visit, name: str) -> VisitedProject:
        """Return a live project. Raises: NotFoundException: it does not exist."""
        client = visit.control.status.client(name)
        if client is None:
            raise NotFoundException(f"there is no project '{name}'")
        return cls(visit, client, name)

    @classmethod
    def open_draft(cls, visit: Visit, name: str, slug: str) -> VisitedProject:
        """Return a draft by slug or branch. Raises: NotFoundException: it does not exist."""
        drafts = visit.control.status.drafts(name)
        draft = drafts.find(slug) if drafts is not None else None
        if drafts is None or draft is None:
            raise NotFoundException(f"project '{name}' has no draft '{slug}'")
        return cls(visit, drafts.client(draft.slug), f"{name} {draft.branch}", draft.slug)

    @classmethod
    def open_target(cls, visit: Visit, name: str) -> VisitedProject:
        """Return the draft in the query `in`, else the live project. Raises as `open_draft`."""
        slug = asked_draft(visit)
        return cls.open_draft(visit, name, slug) if slug else cls.open(visit, name)

    @property
    def is_live(self) -> bool:
        """Whether this is the live project."""
        return not self.draft

    async def ask(
        self,
        kind: Callable[Concatenate[str, P], RequestMessage[A]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> A:
        """Return the answer to a request. Raises: HTTPException: it failed."""
        try:
            return await self.client.ask(kind, *args, **kwargs)
        except BbopsError as error:
            raise refuse(error) from None

    async def note(self, action: str, text: str) -> None:
        """Write a line of the audit log."""
        await self.visit.note(action, object=f"{self.label} {text}")
