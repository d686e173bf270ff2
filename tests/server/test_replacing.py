"""`bbops serve --replace`: another server takes over, and no request is lost."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from bbops.base.errors import ServerError
from bbops_server.commands._projects import lock_state
from bbops_server.commands._run import take_seat
from bbops_server.process.handover import place, taking
from bbops_server.process.handover.protocol import is_same_user
from tests.support.patience import PATIENCE_SECONDS, wait_for
from tests.support.replacing import (
    Clients,
    FakeSuccessor,
    commit_version,
    copy_of_another_version,
    make_bare,
    make_repository,
    replace,
)
from tests.support.served import Served, environment

pytestmark = pytest.mark.long

CLIENTS = 32
RESTARTS = int(os.environ.get("BBOPS_RESTARTS", "3"))
AS_NOBODY = """
import os, socket, sys
os.setuid(65534)
socket.socket(socket.AF_UNIX).connect(sys.argv[1])
"""
BROKEN = "import sys\nif 'bbops_server.data_plane' in sys.orig_argv: raise SystemExit('broken')\n"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_repository(tmp_path_factory.mktemp("replacing") / "small")


@pytest.fixture(scope="module")
def served(repository: Path) -> Iterator[Served]:
    with Served(repository, repository.parent / "home") as server:
        server.live()
        yield server


def state_of(served: Served) -> Path:
    return served.repository / ".bbops/state"


def try_to_replace(
    served: Served, *arguments: str, env: dict[str, str] | None = None
) -> tuple[int, str]:
    """Return exit status and words of a server that does not get to serve."""
    ports = ["--port", "0", "--control-port", "0"]
    command = [sys.executable, "-P", "-m", "bbops", "serve", served.repository, "--replace"]
    done = subprocess.run(
        [*command, *ports, *arguments], cwd=served.home, capture_output=True, text=True,
        check=False, timeout=60, env=environment(served.home) | (env or {}),
    )  # fmt: skip
    return done.returncode, done.stderr


def assert_serves(served: Served) -> None:
    """Both planes answer, by the process that the state folder names."""
    assert httpx.get(f"{served.serving['url']}/hello", timeout=PATIENCE_SECONDS).status_code == 200
    assert served.bbops("status").returncode == 0
    assert (state_of(served) / "lock").read_text() == f"{served.process.pid}\n"


def serves_again(served: Served) -> bool:
    """Return whether the server has taken back its state folder and its control plane answers."""
    holder = (state_of(served) / "lock").read_text()
    return holder == f"{served.process.pid}\n" and served.bbops("status").returncode == 0


def publish(served: Served, version: int) -> None:
    """A commit goes live."""
    release = commit_version(served.repository, version)
    url = f"{served.serving['url']}/hello"
    wait_for(lambda: httpx.get(url, timeout=PATIENCE_SECONDS).headers["x-release"] == release)


def test_one_that_finds_its_port_taken_leaves_the_old_one(served: Served) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        code, said = try_to_replace(served, "--port", str(other.getsockname()[1]))
    assert (code, "cannot listen on 127.0.0.1" in said) == (2, True), said
    assert_serves(served)


def test_a_broken_version_leaves_the_old_one(served: Served, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(BROKEN)
    code, said = try_to_replace(served, env={"PYTHONPATH": str(tmp_path)})
    assert (code, "process 'bbops_server.data_plane' ended" in said) == (2, True), said
    assert_serves(served)


def test_one_server_takes_over_at_a_time(served: Served) -> None:
    with FakeSuccessor(state_of(served)):
        code, said = try_to_replace(served)
        assert (code, "is already taking over" in said, "try again" in said) == (2, True, True)
    assert_serves(served)


def test_a_successor_of_another_protocol_is_told_so(served: Served) -> None:
    with FakeSuccessor(state_of(served), protocol=2) as other:
        assert other.descriptors == []
        assert "protocol 1" in (other.told or {})["refused"]
        assert (other.told or {})["hint"] == "stop it, then start this server"


def test_one_that_ends_before_it_serves_gives_everything_back(served: Served) -> None:
    with FakeSuccessor(state_of(served)) as other:
        assert len(other.descriptors) == 4
    assert_serves(served)
    with FakeSuccessor(state_of(served)) as other:
        assert other.say({"do": "give up"}) == {"done": "given up"}
        url = f"{served.serving['url']}/hello"
        assert httpx.get(url, timeout=PATIENCE_SECONDS).status_code == 200
    assert_serves(served)  # the control plane waits until it is taken back
    publish(served, 2)


def test_a_server_without_a_socket_says_that_it_cannot_hand_over(served: Served) -> None:
    file, aside = state_of(served) / place.NAME, served.home / "aside"
    file.rename(aside)
    code, said = try_to_replace(served)
    aside.rename(file)
    assert (code, "cannot hand over" in said, "stop it" in said) == (2, True, True), said
    assert_serves(served)


def test_only_this_user_is_answered(served: Served) -> None:
    state = state_of(served)
    assert stat.S_IMODE((state / place.NAME).stat().st_mode) == 0o600
    assert stat.S_IMODE((state / "lock").stat().st_mode) == 0o600
    assert stat.S_IMODE(state.stat().st_mode) == 0o700


def test_another_user_gets_nothing_even_where_the_modes_let_them(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    with place.connect(state_of(served), 10) as own:
        assert is_same_user(own)
        others = os.geteuid() + 1
        monkeypatch.setattr(os, "geteuid", lambda: others)  # as one would be that is somebody else
        assert not is_same_user(own)
    monkeypatch.undo()
    if os.geteuid() == 0:  # only root can really be somebody else
        refuse_nobody()


def refuse_nobody() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # nobody reaches pytest's own
        Path(folder).chmod(0o711)
        with place.listen(Path(folder)) as listening:
            (Path(folder) / place.NAME).chmod(0o666)
            asking = [sys.executable, "-P", "-c", AS_NOBODY, f"{folder}/{place.NAME}"]
            subprocess.run(asking, check=True)
            end, _ = listening.accept()
            with end:
                assert not is_same_user(end)


def test_without_a_running_server_it_just_starts(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "small")
    with Served(repository, tmp_path / "home", "--replace") as served:
        served.live()
        assert_serves(served)


def test_one_that_is_killed_just_before_it_is_asked_is_replaced(tmp_path: Path) -> None:
    lock = lock_state(tmp_path)
    assert lock is not None
    place.listen(tmp_path).close()  # its socket is there, and nobody listens
    threading.Timer(0.2, os.close, [lock]).start()
    seat = take_seat(tmp_path, replaces=True, hands_over=False)
    assert seat.predecessor is None
    os.close(seat.lock)


def test_a_process_that_only_has_the_number_of_a_silent_one_is_not_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taking, "GREETING_SECONDS", 0.1)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        lock = lock_state(tmp_path)
        assert lock is not None
        (tmp_path / "lock").write_text(f"{other.pid}\n")
        with place.listen(tmp_path), pytest.raises(ServerError, match="another container"):
            take_seat(tmp_path, replaces=True)
        os.close(lock)
        assert other.poll() is None
        other.communicate(b"\n")
        assert other.returncode == 0


def test_twenty_restarts_and_an_upgrade_lose_no_request_and_no_push(tmp_path: Path) -> None:
    state = tmp_path / "state"
    served = Served(make_bare(tmp_path / "small.git"), tmp_path / "home", "--state", str(state))
    served.live()
    try:
        with Clients(served, CLIENTS) as clients:
            for _ in range(RESTARTS):
                served = replace(served, "--state", str(state))
            other = copy_of_another_version(tmp_path / "other")
            served = replace(served, "--state", str(state), env=other)
            with FakeSuccessor(state) as successor:
                assert (successor.told or {})["version"].startswith("99.")
            pushes = len(clients.pusher.pushed)
            wait_for(lambda: len(clients.pusher.pushed) > pushes + 1)
        assert clients.failures == []
        assert min(one.answered for one in clients.each) > RESTARTS
        assert len(clients.pusher.pushed) > RESTARTS / 2
        print(sum(one.answered for one in clients.each), len(clients.pusher.pushed))
    finally:
        assert served.stop() == 0
    assert "Traceback" not in (tmp_path / "home/log").read_text()


@pytest.mark.parametrize("seconds", [0.5, 0.9, 1.3, 1.7, 2.5])
def test_a_successor_that_is_killed_leaves_one_that_serves(tmp_path: Path, seconds: float) -> None:
    with Served(make_repository(tmp_path / "small"), tmp_path / "home") as old:
        old.live()
        new = start_successor(old)
        time.sleep(seconds)
        new.kill()
        new.wait(PATIENCE_SECONDS)
        # it may have been told to leave just before
        wait_for(lambda: old.process.poll() is not None or serves_again(old))
        if old.process.poll() is None:
            assert_serves(old)
            publish(old, 2)
    with Served(old.repository, old.home) as another:
        assert_serves(another)
        publish(another, 3)


@pytest.mark.parametrize("seconds", [0.5, 0.9, 1.3, 1.7, 2.5])
def test_a_server_that_is_killed_while_it_hands_over_is_replaced(
    tmp_path: Path, seconds: float
) -> None:
    old = Served(make_repository(tmp_path / "small"), tmp_path / "home")
    old.live()
    new = start_successor(old)
    time.sleep(seconds)
    old.process.kill()
    try:
        wait_for(lambda: (state_of(old) / "lock").read_text() == f"{new.pid}\n")
        wait_for(lambda: old.bbops("status").returncode == 0)
        publish(old, 2)
    finally:
        new.terminate()
        assert new.wait(PATIENCE_SECONDS) == 0
        old.stop()


def test_a_server_that_hangs_is_killed_and_replaced(tmp_path: Path) -> None:
    old = Served(make_repository(tmp_path / "small"), tmp_path / "home")
    old.live()
    old.process.send_signal(signal.SIGSTOP)
    new = start_successor(old)
    try:
        assert old.process.wait(PATIENCE_SECONDS) == -signal.SIGKILL
        wait_for(lambda: (state_of(old) / "lock").read_text() == f"{new.pid}\n")
        wait_for(lambda: old.bbops("status").returncode == 0)
        publish(old, 2)
    finally:
        new.terminate()
        assert new.wait(PATIENCE_SECONDS) == 0
        old.stop()


def start_successor(old: Served) -> subprocess.Popen[bytes]:
    """Start a server that takes the place of an old one, on the same ports."""
    ports = [old.serving[key].rpartition(":")[2] for key in ("url", "control_url")]
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "bbops", "serve", old.repository, "--replace",
         "--port", ports[0], "--control-port", ports[1]],
        cwd=old.home, env=environment(old.home), stdout=subprocess.DEVNULL, stderr=old.log,
    )  # fmt: skip
