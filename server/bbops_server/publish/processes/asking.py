"""Start the processes that a plane is made of, and ask them what all of them are asked."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from bbops.base.errors import ServerError
from bbops_server.data_plane.live.shared import Shared
from bbops_server.process.children import Child, LivingChild
from bbops_server.process.messages import Frame
from bbops_server.publish.processes.link import Link

BUILD_NICENESS: Final = 10
LINK_SECONDS: Final = 60.0
WORD_SECONDS: Final = 10.0
"""How long a process may take for what is only a word."""

HOLD_DRAIN_SECONDS: Final = 3.0
"""How much of the time that requests wait those under way have to end."""

Ask = Callable[..., Awaitable[Frame]]


async def start_data(listening: socket.socket, shared: Shared | None, number: int) -> Child:
    """Start a data process; it accepts nothing yet. Raises: ServerError: it does not start."""
    fds = [listening.fileno()]
    if shared is None:
        return await Child.start("bbops_server.data_plane", fds=fds)
    # a process that takes the place of a dead one goes on with its lane
    fds.append(shared.descriptor)
    return await Child.start("bbops_server.data_plane", fds=fds, words=shared.words(number))


async def start_build() -> Child:
    """Start a build process. Raises: ServerError: it does not start."""
    return await Child.start("bbops_server.publish.build", nice=BUILD_NICENESS)


def refusal(project: str, diagnostics: Sequence[Mapping[str, Any]]) -> Frame:
    """Return the request that lets a project answer with diagnostics."""
    return {"do": "refuse", "project": project, "diagnostics": list(diagnostics)}


async def hold(ask: Ask, project: str, until: float) -> None:
    """Let new requests of a project wait. Raises: BbopsError: the process does not answer."""
    seconds = until - asyncio.get_running_loop().time()
    request = {
        "do": "hold", "project": project, "seconds": seconds, "drain_seconds": HOLD_DRAIN_SECONDS,
    }  # fmt: skip
    await ask(request, timeout_seconds=WORD_SECONDS)


async def tell(child: LivingChild, request: Frame) -> None:
    """Tell a process what may take it a while. Raises: BbopsError: it does not answer."""
    await child.ask(request, timeout_seconds=LINK_SECONDS)


async def swap(child: LivingChild, link: Link) -> None:
    """Swap; a process that was replaced since it linked must link once more."""
    try:
        await child.ask(link.swap(), timeout_seconds=WORD_SECONDS)
    except ServerError:
        await tell(child, link.request())
        await child.ask(link.swap(), timeout_seconds=WORD_SECONDS)


async def ask_all(asked: Iterable[Awaitable[Any]]) -> None:
    """Wait for all of them, then raise the first error there was."""
    for outcome in await asyncio.gather(*asked, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome
