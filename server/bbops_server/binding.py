"""Bind before any process starts: a port that is taken is said at once."""

from __future__ import annotations

import socket

from bbops.errors import ServerError
from bbops_server.settings import Settings, is_loopback

BACKLOG = 2048


def bind(host: str, port: int, *, option: str) -> socket.socket:
    """Return a listening socket; connections wait in it until a process accepts them.

    Args:
        host: a name or an address of this machine.
        port: 0 finds a free one.
        option: the command's option that names another port, for the hint.

    Raises:
        ServerError: the port is taken, or the address is not this machine's.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
    except OSError as error:
        raise _cannot_bind(host, port, error, option) from None
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        raise _cannot_bind(host, port, error, option) from None
    bound.setblocking(False)  # noqa: FBT003 - its only argument
    return bound


def require_https(settings: Settings) -> None:
    """Refuse a control plane that people of other machines would reach without https.

    Raises:
        ServerError: says what to do.
    """
    if is_loopback(settings.control_host) or settings.control_shown.startswith("https://"):
        return
    raise ServerError(
        f"the control plane would listen on '{settings.control_host}' without https",
        hint="let a proxy answer https, and say its address: --control-url https://…, or "
        "'urls: {control: https://…}' in server.yaml",
    )


def _cannot_bind(host: str, port: int, error: OSError, option: str) -> ServerError:
    reason = (error.strerror or "no reason given").lower()
    return ServerError(
        f"cannot listen on {host}:{port}: {reason}",
        hint=f"choose another port with '{option} PORT'",
    )
