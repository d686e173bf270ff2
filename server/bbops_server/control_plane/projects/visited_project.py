"""A project or draft as a visitor uses it: its routes, requests to its processes, the audit log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Concatenate, Final, ParamSpec

from litestar.di import NamedDependency, Provide
from litestar.exceptions import NotFoundException
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, SkipValidation

from bbops.base.errors import BbopsError
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.frame import asked_draft
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.routes import change, read
from bbops_server.control_plane.web.visit import Here, Visit
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


# ---- Routes of a live project and of its drafts, with one handler for both

Visited = NamedDependency[SkipValidation[VisitedProject]]
"""The type of a handler's parameter `project`."""

PairDecorator = Callable[[Callable[..., Any]], tuple[HTTPRouteHandler, HTTPRouteHandler]]


def _open_live(visit: Here, name: FromPath[str]) -> VisitedProject:
    return VisitedProject.open(visit, name)


def _open_draft(visit: Here, name: FromPath[str], slug: FromPath[str]) -> VisitedProject:
    return VisitedProject.open_draft(visit, name, slug)


_LIVE: Final = {"project": Provide(_open_live, sync_to_thread=False)}
_DRAFT: Final = {"project": Provide(_open_draft, sync_to_thread=False)}


def read_both(path: str, live: Permission, draft: Permission | None = None) -> PairDecorator:
    """Return a decorator for an API call that reads a live project or a draft.

    Args:
        path: the path below the project or draft.
        live: the permission for the live project.
        draft: the permission for a draft; `live` by default.
    """
    return lambda handler: (
        read(PROJECT + path, live, dependencies=_LIVE)(handler),
        read(DRAFT + path, draft or live, dependencies=_DRAFT)(handler),
    )


def change_both(
    path: str, live: Permission, draft: Permission | None = None, *, status: int = 200
) -> PairDecorator:
    """Return a decorator for an API call that changes a live project or a draft.

    Arguments are as for `read_both`.
    """
    return lambda handler: (
        change(PROJECT + path, live, status=status, dependencies=_LIVE)(handler),
        change(DRAFT + path, draft or live, status=status, dependencies=_DRAFT)(handler),
    )
