"""Bind before any process starts: a port that is taken is said at once.

Sockets that are handed over, by a server before or by a service manager, are used where they fit.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

from bbops.base.errors import ServerError
from bbops_server.settings import Settings, is_loopback

BACKLOG = 2048


def find_sockets(
    settings: Settings, before: Sequence[socket.socket], given: Sequence[socket.socket]
) -> tuple[socket.socket, socket.socket]:
    """Return the listening sockets of the data plane and of the control plane.

    Args:
        settings: where they listen.
        before: those of a server before, in the same order; a port of 0 takes theirs.
        given: those of a service manager, in any order.

    Raises:
        ServerError: a port is taken, an address is not this machine's, or one that was given is
            not where the settings say.
    """
    data = _find(settings.host, settings.port, "--port", [*before[:1], *given])
    control = _find(
        settings.control_host, settings.control_port, "--control-port", [*before[1:2], *given]
    )
    for one in given:
        if one not in {data, control}:
            host, port = one.getsockname()[:2]
            raise ServerError(
                f"the service manager listens on {host}:{port}, but neither plane uses it",
                hint="use the same addresses in its socket unit and by --host, --port and"
                " --control-port",
            )
    return data, control


def _find(host: str, port: int, option: str, handed: Sequence[socket.socket]) -> socket.socket:
    """Return a socket that was handed over and listens there; else `bind` one."""
    try:
        *_, wanted = _resolve(host, port)
    except OSError as error:
        raise _cannot_bind(host, port, error, option) from None
    for one in handed:
        found_host, found_port = one.getsockname()[:2]
        if found_host == wanted[0] and port in {0, found_port}:
            one.setblocking(False)  # noqa: FBT003 - its only argument
            return one
    return bind(host, port, option=option)


def _resolve(host: str, port: int) -> tuple[int, int, int, str, Any]:
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]


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
        family, kind, protocol, _, address = _resolve(host, port)
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
        hint="put an https proxy in front, and set its URL: --control-url https://…, or "
        "'urls: {control: https://…}' in server.yaml",
    )


def _cannot_bind(host: str, port: int, error: OSError, option: str) -> ServerError:
    reason = (error.strerror or "no reason given").lower()
    return ServerError(
        f"cannot listen on {host}:{port}: {reason}",
        hint=f"choose another port with '{option} PORT'",
    )
