"""Start the processes of a plane, and send requests to them."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Iterable, Sequence
from typing import Final, Protocol, TypeVar

from bbops.base.errors import ServerError
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops_server.data_plane.live.shared import Shared
from bbops_server.data_plane.realtime.fanout.end import CENTER
from bbops_server.process.children import Child, SupervisedChild
from bbops_server.process.messages.projects import Hold, Refuse
from bbops_server.process.messages.request import A, RequestMessage
from bbops_server.publish.processes.link import Link

T = TypeVar("T")
BUILD_NICENESS: Final = 10
LINK_SECONDS: Final = 60.0
SHORT_SECONDS: Final = 10.0
"""The timeout of requests that a process answers at once."""

HOLD_DRAIN_SECONDS: Final = 3.0
"""The part of a hold in which running requests can finish."""


class SendRequest(Protocol):
    """A function that sends a request to a process."""

    def __call__(self, request: RequestMessage[A], *, timeout_seconds: float) -> Awaitable[A]:
        """Return the answer. Raises: BbopsError: the process does not respond, or fails."""
        ...


async def start_data(
    listening: socket.socket,
    wake_up: socket.socket,
    center: str,
    shared: Shared | None,
    number: int,
) -> Child:
    """Start a data process, not listening yet. Raises: ServerError: it does not start."""
    fds = [listening.fileno(), wake_up.fileno()]
    if shared is None:
        return await Child.start("bbops_server.data_plane", fds=fds, words=[CENTER, center])
    # a process that replaces a dead one reuses its part of the shared memory
    fds.append(shared.descriptor)
    words = [CENTER, center, *shared.words(number)]
    return await Child.start("bbops_server.data_plane", fds=fds, words=words)


async def start_build() -> Child:
    """Start a build process. Raises: ServerError: it does not start."""
    return await Child.start("bbops_server.publish.build", nice=BUILD_NICENESS)


def refuse_request(project: str, diagnostics: Sequence[JsonDiagnostic]) -> Refuse:
    """Return the request that makes a project respond with diagnostics."""
    return Refuse(project, list(diagnostics))


async def hold(ask: SendRequest, project: str, until: float) -> None:
    """Queue new requests of a project until a time of the event loop's clock.

    Raises:
        BbopsError: the process does not respond.
    """
    seconds = until - asyncio.get_running_loop().time()
    await ask(Hold(project, seconds, HOLD_DRAIN_SECONDS), timeout_seconds=SHORT_SECONDS)


async def ask_slowly(child: SupervisedChild, request: RequestMessage[A]) -> A:
    """Send a slow request. Raises: BbopsError: the process does not respond."""
    return await child.ask(request, timeout_seconds=LINK_SECONDS)


async def swap(child: SupervisedChild, link: Link) -> None:
    """Make a linked release live; a process that was replaced meanwhile links it first."""
    try:
        await child.ask(link.swap(), timeout_seconds=SHORT_SECONDS)
    except ServerError:
        await ask_slowly(child, link.request())
        await child.ask(link.swap(), timeout_seconds=SHORT_SECONDS)


async def ask_all(requests: Iterable[Awaitable[T]]) -> list[T]:
    """Wait for all requests; return their answers, or raise the first error."""
    answers: list[T] = []
    for outcome in await asyncio.gather(*requests, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome
        answers.append(outcome)
    return answers
