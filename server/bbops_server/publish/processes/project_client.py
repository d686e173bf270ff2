"""Client for the processes of one project."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Concatenate, ParamSpec

from bbops_server.process.messages.request import A, RequestMessage
from bbops_server.publish.processes.plane import Plane

P = ParamSpec("P")


async def _stay_awake() -> None:
    """Do nothing: a live project never sleeps."""


@dataclass(frozen=True, slots=True)
class ProjectClient:
    """Sends requests to a data process of a live project, or to the process of a draft.

    Attributes:
        project: its name in data processes.
        wake: returns once a draft is awake, or raises BbopsError.
    """

    plane: Plane
    project: str
    wake: Callable[[], Awaitable[None]] = _stay_awake

    async def ask(
        self,
        kind: Callable[Concatenate[str, P], RequestMessage[A]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> A:
        """Return the answer to a request, such as `ask(ListJobs, "dead", 100)`.

        Args:
            kind: a class of requests whose first field is the project.

        Raises:
            BbopsError: nothing is live, the process is unavailable, or the request failed.
        """
        await self.wake()
        return await self.plane.ask_project(self.project, kind(self.project, *args, **kwargs))
