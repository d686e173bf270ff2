"""A server that starts: who comes early waits, and sockets of a service manager are taken."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from bbops.base.errors import ServerError
from bbops_server.process.sockets.binding import find_sockets
from bbops_server.settings import Settings
from tests.support.patience import PATIENCE_SECONDS
from tests.support.replacing import make_repository
from tests.support.served import Served, environment

pytestmark = pytest.mark.long

AS_A_MANAGER = """
import fcntl, os, sys
count, *words = sys.argv[1:]
for place, one in enumerate([fcntl.fcntl(int(one), fcntl.F_DUPFD, 20) for one in words[:2]], 3):
    os.dup2(one, place)
os.environ |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": count}
os.execv(sys.executable, [sys.executable, "-P", "-m", "bbops", "serve", *words[2:]])
"""
Listen = Callable[[], socket.socket]


@pytest.fixture
def listen() -> Iterator[Listen]:
    opened = []

    def make() -> socket.socket:
        opened.append(socket.create_server(("127.0.0.1", 0), backlog=128))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


def port_of(listening: socket.socket) -> int:
    return int(listening.getsockname()[1])


def test_after_a_restart_the_first_answer_is_that_of_the_release(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "small")
    with Served(repository, tmp_path / "home") as served:
        served.live()
        port = served.serving["url"].rpartition(":")[2]
    seen: list[int] = []
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            try:
                url = f"http://127.0.0.1:{port}/hello"
                seen.append(httpx.get(url, timeout=PATIENCE_SECONDS).status_code)
            except httpx.ConnectError:
                over.wait(0.005)

    asking = threading.Thread(target=ask)
    asking.start()
    with Served(repository, tmp_path / "home", "--port", port) as served:
        served.live()
        over.set()
        asking.join()
    assert set(seen) == {200}


def test_sockets_of_a_service_manager_are_used_again_and_again(
    tmp_path: Path, listen: Listen
) -> None:
    repository = make_repository(tmp_path / "small")
    data, control = listen(), listen()
    url = f"http://127.0.0.1:{port_of(data)}/hello"
    for _ in range(2):
        unit = start_as_unit(repository, (data, control))
        try:
            assert httpx.get(url, timeout=PATIENCE_SECONDS).status_code in {200, 503}
            assert httpx.get(
                f"http://127.0.0.1:{port_of(control)}/", timeout=PATIENCE_SECONDS
            ).is_success
        finally:
            unit.terminate()
            assert unit.wait(PATIENCE_SECONDS) == 0
    waiting = socket.create_connection(data.getsockname())  # nobody refuses, though nothing runs
    waiting.close()


def start_as_unit(
    repository: Path, sockets: tuple[socket.socket, socket.socket]
) -> subprocess.Popen[bytes]:
    ports = ["--port", str(port_of(sockets[0])), "--control-port", str(port_of(sockets[1]))]
    handed = [one.fileno() for one in sockets]
    return subprocess.Popen(
        [sys.executable, "-P", "-c", AS_A_MANAGER, "2", *map(str, handed), str(repository), *ports],
        cwd=repository, env=environment(repository.parent), pass_fds=handed,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip


def test_handed_sockets_are_found_by_their_address(listen: Listen) -> None:
    data, control = listen(), listen()
    settings = Settings(Path(), port=port_of(data), control_port=port_of(control))
    assert find_sockets(settings, (), (control, data)) == (data, control)
    assert find_sockets(settings, (data, control), ()) == (data, control)
    anywhere = Settings(Path(), port=0, control_port=0)
    assert find_sockets(anywhere, (data, control), ()) == (data, control)


def test_a_socket_that_is_for_neither_plane_is_refused(listen: Listen) -> None:
    data, control, third = listen(), listen(), listen()
    settings = Settings(Path(), port=port_of(data), control_port=port_of(control))
    with pytest.raises(ServerError, match=f"127.0.0.1:{port_of(third)}, but neither plane"):
        find_sockets(settings, (), (data, control, third))
