"""Bind the listening sockets before any process starts, to report a used port at once.

Sockets of a predecessor or of a service manager are used if their addresses fit.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

from bbops.base.errors import ServerError
from bbops_server.settings import Settings, is_loopback

BACKLOG = 2048


def find_sockets(
    settings: Settings, before: Sequence[socket.socket], activated: Sequence[socket.socket]
) -> tuple[socket.socket, socket.socket]:
    """Return the listening sockets of the data plane and of the control plane.

    Args:
        settings: the hosts and ports.
        before: the predecessor's sockets, in the same order; port 0 uses their ports.
        activated: sockets of a service manager, in any order.

    Raises:
        ServerError: a port is in use, an address does not belong to this machine, or the settings
            do not use a socket of the service manager.
    """
    data = _find(settings.host, settings.port, "--port", [*before[:1], *activated])
    control = _find(
        settings.control_host, settings.control_port, "--control-port", [*before[1:2], *activated]
    )
    for listening in activated:
        if listening not in {data, control}:
            host, port = listening.getsockname()[:2]
            raise ServerError(
                f"the service manager listens on {host}:{port}, but neither plane uses it",
                hint="use the same addresses in its socket unit and by --host, --port and"
                " --control-port",
            )
    return data, control


def _find(host: str, port: int, option: str, passed: Sequence[socket.socket]) -> socket.socket:
    """Return the passed socket with this address, else bind one."""
    try:
        *_, address = _resolve(host, port)
    except OSError as error:
        raise _cannot_bind(host, port, error, option) from None
    for listening in passed:
        bound_host, bound_port = listening.getsockname()[:2]
        if bound_host == address[0] and port in {0, bound_port}:
            listening.setblocking(False)  # noqa: FBT003 - its only argument
            return listening
    return bind(host, port, option=option)


def _resolve(host: str, port: int) -> tuple[int, int, int, str, Any]:
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]


def bind(host: str, port: int, *, option: str) -> socket.socket:
    """Return a listening socket. Connections wait until a process accepts them.

    Args:
        host: a name or an address of this machine.
        port: the port; 0 for any free port.
        option: the command's option for the port, for the hint.

    Raises:
        ServerError: the port is in use, or the address does not belong to this machine.
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
    """Require https for a control plane that other machines can connect to.

    Raises:
        ServerError: the control plane would be served over plain HTTP; with a fix.
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
