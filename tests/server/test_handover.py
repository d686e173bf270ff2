"""Two ends of a handover, one of which hangs, lies, or is somebody else."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from bbops.base.errors import ServerError
from bbops_server.process.handover import offering, place, taking
from bbops_server.process.handover.offering import HandoverServer
from bbops_server.process.handover.protocol import (
    HandoverDescriptors,
    receive_descriptors,
    send_message,
)
from bbops_server.process.handover.taking import Predecessor
from tests.support.patience import PATIENCE_SECONDS, eventually, patience


@contextmanager
def process() -> Iterator[subprocess.Popen[bytes]]:
    """A process that does nothing, and may be killed."""
    with subprocess.Popen(["sleep", "1000"]) as sleeping:
        try:
            yield sleeping
        finally:
            sleeping.kill()


def offered(state: Path, test: Callable[[HandoverServer], Awaitable[None]]) -> None:
    """Run a test with a server that hands over two sockets and a lock."""

    async def main() -> None:
        lock = os.open(state / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        with (
            place.listen(state) as listening,
            socket.create_server(("127.0.0.1", 0)) as data,
            socket.create_server(("127.0.0.1", 0)) as control,
        ):
            offer = HandoverServer(
                HandoverDescriptors(data.fileno(), control.fileno(), lock, listening.fileno()),
                listening,
            )
            offer.open()
            async with patience():
                await test(offer)
            await offer.close()
        os.close(lock)

    asyncio.run(main())


def let_go(before: Predecessor) -> None:
    for one in (*before.sockets, before.listening, before._end):
        one.close()
    os.close(before.lock)


def test_a_folder_of_any_length_has_a_socket_for_its_user_alone(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    with place.listen(deep) as listening:
        assert stat.S_IMODE((deep / place.NAME).stat().st_mode) == 0o600
        with place.connect(deep, PATIENCE_SECONDS) as end:
            listening.accept()[0].close()
            assert end.recv(1) == b""


def test_sockets_lock_and_words_go_from_one_to_the_other(tmp_path: Path) -> None:
    async def test(offer: HandoverServer) -> None:
        before = await asyncio.to_thread(Predecessor.meet, tmp_path)
        assert before.pid == os.getpid()
        assert os.path.sameopenfile(before.lock, offer._handed.lock)
        pairs = zip(before.sockets, offer._handed[:2], strict=True)
        assert all(os.path.sameopenfile(one.fileno(), other) for one, other in pairs)
        assert not any(os.get_inheritable(one.fileno()) for one in before.sockets)
        giving_up = asyncio.create_task(before.give_up())
        successor = await offer.wait_for_successor()
        taking_over = asyncio.create_task(successor.takes_over())
        await giving_up
        send_message(before._end, {"do": "leave"})
        assert await taking_over
        successor._end.close()
        let_go(before)

    offered(tmp_path, test)


def test_a_predecessor_that_cannot_be_ended_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taking, "GIVE_UP_SECONDS", 0.2)
    monkeypatch.setattr(taking, "_END_SECONDS", 0.2)

    async def test(offer: HandoverServer) -> None:
        before = await asyncio.to_thread(Predecessor.meet, tmp_path)
        with process() as told:  # as one in another container would be told: it is somebody else
            before.pid = told.pid
            with pytest.raises(ServerError, match="does not respond to the handover"):
                await before.give_up()
        (await offer.wait_for_successor())._end.close()
        let_go(before)

    offered(tmp_path, test)


HANGING = """
import sys, time
from pathlib import Path
from bbops_server.process.handover.place import connect
from bbops_server.process.handover.protocol import receive_descriptors, send_message
end = connect(Path(sys.argv[1]), float(sys.argv[3]))
send_message(end, {"protocol": 1, "do": "take over", "pid": int(sys.argv[2])})
receive_descriptors(end)
send_message(end, {"do": "give up"})
time.sleep(float(sys.argv[3]))
"""


def test_a_successor_that_hangs_is_killed_and_nobody_whom_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offering, "TAKE_SECONDS", 0.2)

    async def test(offer: HandoverServer) -> None:
        with process() as named:
            words = [str(tmp_path), str(named.pid), str(PATIENCE_SECONDS)]
            command = [sys.executable, "-c", HANGING, *words]
            with subprocess.Popen(command) as hanging:
                successor = await offer.wait_for_successor()
                assert not await successor.takes_over()
                assert hanging.wait(PATIENCE_SECONDS) == -9
            assert named.poll() is None
        await eventually(lambda: not offer.is_in_use)
        assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"

    offered(tmp_path, test)


@pytest.mark.parametrize("words", [b"", b"\n", b"nonsense", b"[1]", b"\xff" * 5000])
def test_what_is_no_word_is_not_answered(tmp_path: Path, words: bytes) -> None:
    async def test(offer: HandoverServer) -> None:
        with place.connect(tmp_path, PATIENCE_SECONDS) as end:
            end.sendall(words)
            end.shutdown(socket.SHUT_WR)
            with suppress(ConnectionResetError):  # it has not read to the end
                told, descriptors = await asyncio.to_thread(receive_descriptors, end)
                assert (told, descriptors) == (None, [])
        let_go(await asyncio.to_thread(Predecessor.meet, tmp_path))

    offered(tmp_path, test)


def test_one_that_starts_or_ends_hands_nothing_over(tmp_path: Path) -> None:
    async def test(offer: HandoverServer) -> None:
        offer.is_ready = False
        with pytest.raises(ServerError, match="is just starting, or ending"):
            await asyncio.to_thread(Predecessor.meet, tmp_path)

    offered(tmp_path, test)
