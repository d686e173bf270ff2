"""The server as a whole: real processes, real HTTP, real signals."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from bbops.base.errors import ServerError
from bbops_server.process.sockets.binding import bind
from bbops_server.publish.processes.plane import Plane
from bbops_server.settings import Settings
from tests.support.patience import PATIENCE_SECONDS, wait_for
from tests.support.raw import NOTE, connect, post, read_answer, unread_bytes
from tests.support.running import Running, get, is_alive, wait_until_gone
from tests.support.small_project import hello


@pytest.fixture
def server(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Running]:
    running = Running(tmp_path, getattr(request, "param", 1))
    yield running
    running.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server for tests that leave it as it was."""
    running = Running(tmp_path_factory.mktemp("shared"), 1, is_cold=True)
    yield running
    running.close()


def begin_note(server: Running) -> socket.socket:
    """Begin to add a note, whose body is still to come."""
    connection = connect(server.url)
    connection.sendall(post(f"Content-Length: {len(NOTE)}"))
    wait_for(server.is_asked)
    return connection


def is_closed(url: str) -> bool:
    try:
        get(url)
    except httpx.ConnectError:
        return True
    except httpx.TransportError:  # taken just before the door was closed
        return False
    return False


def test_routes_answer_with_the_release_and_reach_the_database(shared: Running) -> None:
    answer = get(f"{shared.url}/hello")
    assert answer.json() == {"text": "hello", "version": 1}
    assert answer.headers["x-release"] == "r0"
    assert "server" not in answer.headers
    added = httpx.post(
        f"{shared.url}/notes", json={"title": "one"}, trust_env=False, timeout=PATIENCE_SECONDS
    )
    assert added.status_code == 201
    assert [one["title"] for one in get(f"{shared.url}/notes").json()] == ["one"]


def test_health_and_readiness_are_litestars(shared: Running) -> None:
    assert get(f"{shared.url}/~health").json() == {"status": "ok"}
    ready = get(f"{shared.url}/~ready").json()
    assert ready == {"status": "ready", "release": "r0", "project": "small"}
    assert get(f"{shared.url}/~nothing").status_code == 404


@pytest.mark.parametrize("server", [2], indirect=True)
def test_a_publication_is_live_in_all_processes_when_it_returns(server: Running) -> None:
    assert len(set(server.data_pids)) == 2
    published = server.publish(hello(2))
    assert [one["release"] for one in published["processes"]] == ["r1", "r1"]
    for _ in range(10):
        assert get(f"{server.url}/hello").json()["version"] == 2


@pytest.mark.long
def test_a_request_ends_in_the_release_it_began_in(server: Running) -> None:
    with begin_note(server) as note:
        server.publish(hello(2))
        assert get(f"{server.url}/hello").headers["x-release"] == "r1"
        note.sendall(NOTE)
        answer = read_answer(note)
    assert (answer.status, answer.headers["x-release"]) == (201, "r0")


@pytest.mark.long
def test_a_refusal_answers_every_route_until_the_next_release(server: Running) -> None:
    server.say("refuse")
    server.read()
    refused = get(f"{server.url}/hello")
    assert refused.status_code == 503
    error = refused.json()["error"]
    assert error["code"] == "projectInvalid"
    assert error["message"] == "a.yaml:1:1: error: wrong [x]"
    assert get(f"{server.url}/~health").status_code == 200
    server.publish(hello(3))
    assert get(f"{server.url}/hello").json()["version"] == 3


def test_a_killed_data_process_is_replaced_and_no_request_is_refused(server: Running) -> None:
    os.kill(server.data_pids[0], signal.SIGKILL)
    wait_until_gone(server.data_pids)
    answer = get(f"{server.url}/hello")  # waits in the socket until the new one takes it
    assert answer.status_code == 200
    assert answer.headers["x-release"] == "r0"


@pytest.mark.long
def test_a_killed_data_process_does_not_stop_a_publication(server: Running) -> None:
    os.kill(server.data_pids[0], signal.SIGKILL)
    published = server.publish(hello(2))
    assert [one["release"] for one in published["processes"]] == ["r1"]
    assert get(f"{server.url}/hello").json()["version"] == 2


@pytest.mark.long
def test_a_killed_build_process_is_replaced(server: Running) -> None:
    server.say("kill-build")
    published = server.publish(hello(2))
    assert published["release"] == "r1"


def test_a_broken_project_is_an_answer_and_the_last_release_serves_on(shared: Running) -> None:
    said = shared.publish({"functions/hello.yaml": "steps:\n  - retrun: {}\n"})
    assert "functions/hello.yaml" in said["error"]
    assert get(f"{shared.url}/hello").status_code == 200


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_slow_request_is_answered_before_the_server_ends_with_0(
    server: Running, number: signal.Signals
) -> None:
    children = server.children()
    assert len(children) == 2
    with begin_note(server) as note:
        server.process.send_signal(number)
        wait_for(lambda: is_closed(f"{server.url}/hello"))
        note.sendall(NOTE)
        assert read_answer(note).status == 201
    wait_for(lambda: is_closed(f"{server.control}/"))
    assert server.process.wait(PATIENCE_SECONDS) == 0
    wait_until_gone(children)
    assert Path(server.log.name).read_text() == ""


@pytest.mark.long
def test_children_leave_when_the_parent_is_killed(server: Running) -> None:
    children = server.children()
    server.process.kill()
    wait_until_gone(children)


@pytest.mark.long
def test_signals_meant_for_the_parent_do_not_end_a_child(shared: Running) -> None:
    os.kill(shared.data_pids[0], signal.SIGTERM)
    os.kill(shared.data_pids[0], signal.SIGINT)
    for _ in range(10):  # a process that ended would leave them to the next one
        assert get(f"{shared.url}/hello").status_code == 200
    assert is_alive(shared.data_pids[0])


def test_the_control_plane_answers_on_its_own_port(shared: Running) -> None:
    listed = get(f"{shared.control}/api/projects").json()
    assert [one["name"] for one in listed] == ["small"]


def test_no_secret_is_in_the_environment_or_arguments_of_a_child(shared: Running) -> None:
    env = (shared.state / "env.json").read_text()
    assert "SECRET" in env
    for pid in shared.children():
        told = Path(f"/proc/{pid}/environ").read_bytes() + Path(f"/proc/{pid}/cmdline").read_bytes()
        assert b"SECRET=" not in told


def send_raw(url: str, *pieces: bytes) -> bytes:
    with connect(url) as connection:
        for piece in pieces:
            connection.sendall(piece)
            wait_for(lambda: not unread_bytes(connection))  # each piece comes by itself
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while data := connection.recv(65_536):
            answer += data
    return answer


def test_a_head_without_end_is_cut_off(shared: Running) -> None:
    with contextlib.suppress(ConnectionError):  # it may be reset while it still sends
        pieces = [b"GET /hello HTTP/1.1\r\nhost: a\r\nx: "] + [b"a" * 65_536] * 8
        assert send_raw(shared.url, *pieces).startswith(b"HTTP/1.1 431 ")
    assert get(f"{shared.url}/hello").status_code == 200


@pytest.mark.long
def test_a_long_body_after_a_head_is_not_taken_for_one(shared: Running) -> None:
    body = b'{"title":"a","more":"' + b"a" * 600_000 + b'"}'
    head = b"POST /notes HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n" % len(body)
    pieces = [head, b"connection: close\r\n\r\n", body[:300_000], body[300_000:]]
    assert send_raw(shared.url, *pieces).startswith(b"HTTP/1.1 201 ")


def test_two_host_headers_are_refused(shared: Running) -> None:
    answer = send_raw(shared.url, b"GET /hello HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"expected one Host header, found 2" in answer


def test_a_taken_port_is_said_with_a_cure(tmp_path: Path) -> None:
    with bind("127.0.0.1", 0, option="--port") as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ServerError, match=f"cannot listen on 127.0.0.1:{port}") as caught:
            bind("127.0.0.1", port, option="--port")
    assert caught.value.hint == "choose another port with '--port PORT'"


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(ServerError, match="cannot listen on"):
        bind("203.0.113.7", 0, option="--port")


def test_addresses_are_told_as_this_machine_reaches_them(tmp_path: Path) -> None:
    for host, url in (("0.0.0.0", "http://127.0.0.1:1"), ("::1", "http://[::1]:1")):
        assert Settings(tmp_path, host=host, port=1).data_url == url


def test_a_process_that_does_not_start_is_an_error_and_leaves_none_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("false"))

    async def main() -> None:
        with bind("127.0.0.1", 0, option="--port") as listening:
            await Plane(Settings(tmp_path), listening).start()

    with pytest.raises(ServerError, match="ended before it answered"):
        asyncio.run(main())
