"""Start the processes that a plane is made of, and ask them what all of them are asked."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Iterable, Sequence
from typing import Final, Protocol, TypeVar

from bbops.base.errors import ServerError
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops_server.data_plane.live.shared import Shared
from bbops_server.data_plane.realtime.fanout.stream import CENTER
from bbops_server.process.children import Child, SupervisedChild
from bbops_server.process.messages.projects import Hold, Refuse
from bbops_server.process.messages.request import A, RequestMessage
from bbops_server.publish.processes.link import Link

T = TypeVar("T")
BUILD_NICENESS: Final = 10
LINK_SECONDS: Final = 60.0
WORD_SECONDS: Final = 10.0
"""How long a process may take for what is only a word."""

HOLD_DRAIN_SECONDS: Final = 3.0
"""How much of the time that requests wait those under way have to end."""


class Ask(Protocol):
    """Asks a process."""

    def __call__(self, request: RequestMessage[A], *, timeout_seconds: float) -> Awaitable[A]:
        """Return its answer. Raises: BbopsError: it has none."""
        ...


async def start_data(
    listening: socket.socket, bell: socket.socket, center: str, shared: Shared | None, number: int
) -> Child:
    """Start a data process; it accepts nothing yet. Raises: ServerError: it does not start."""
    fds = [listening.fileno(), bell.fileno()]
    if shared is None:
        return await Child.start("bbops_server.data_plane", fds=fds, words=[CENTER, center])
    # a process that takes the place of a dead one goes on with its lane
    fds.append(shared.descriptor)
    words = [CENTER, center, *shared.words(number)]
    return await Child.start("bbops_server.data_plane", fds=fds, words=words)


async def start_build() -> Child:
    """Start a build process. Raises: ServerError: it does not start."""
    return await Child.start("bbops_server.publish.build", nice=BUILD_NICENESS)


def refusal(project: str, diagnostics: Sequence[JsonDiagnostic]) -> Refuse:
    """Return the request that lets a project answer with diagnostics."""
    return Refuse(project, list(diagnostics))


async def hold(ask: Ask, project: str, until: float) -> None:
    """Let new requests of a project wait. Raises: BbopsError: the process does not answer."""
    seconds = until - asyncio.get_running_loop().time()
    await ask(Hold(project, seconds, HOLD_DRAIN_SECONDS), timeout_seconds=WORD_SECONDS)


async def tell(child: SupervisedChild, request: RequestMessage[A]) -> A:
    """Tell a process what may take it a while. Raises: BbopsError: it is not responding."""
    return await child.ask(request, timeout_seconds=LINK_SECONDS)


async def swap(child: SupervisedChild, link: Link) -> None:
    """Swap; a process that was replaced since it linked must link once more."""
    try:
        await child.ask(link.swap(), timeout_seconds=WORD_SECONDS)
    except ServerError:
        await tell(child, link.request())
        await child.ask(link.swap(), timeout_seconds=WORD_SECONDS)


async def ask_all(asked: Iterable[Awaitable[T]]) -> list[T]:
    """Wait for all of them, then return their answers, or raise the first error there was."""
    answers: list[T] = []
    for outcome in await asyncio.gather(*asked, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome
        answers.append(outcome)
    return answers
