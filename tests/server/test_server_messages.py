"""Frames between processes, and what becomes of errors on their way."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import textwrap
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from bbops.base.errors import MigrationRefused, ServerError
from bbops_server.process.children import Child, ChildGone, LivingChild
from bbops_server.process.messages import (  # fmt: skip
    MAX_FRAME_BYTES,
    Channel,
    Frame,
    answer_all,
    pack_error,
    unpack_error,
)

MODULE = """
import asyncio, os, socket, sys
from bbops.base.errors import GitError
from bbops_server.process.messages import Channel, answer_all

async def handle(request):
    if request["do"] == "echo":
        await asyncio.sleep(request.get("after", 0))
        return {"said": request["said"], "pid": os.getpid()}
    if request["do"] == "refuse":
        raise GitError("no", hint="yes")
    if request["do"] == "break":
        raise KeyError("hidden-detail")
    if request["do"] == "die":
        os._exit(3)
    if request["do"] == "nice":
        return {"nice": os.nice(0), "key": os.environ.get("BBOPS_KEY"), "stdin": sys.stdin.read()}
    if request["do"] == "hang":
        import time
        time.sleep(60)
    return {}

async def main():
    channel = await Channel.open(socket.socket(fileno=int(sys.argv[1])))
    await answer_all(channel, handle)

asyncio.run(main())
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "a_test_child.py").write_text(textwrap.dedent(MODULE))
    monkeypatch.setenv("PYTHONPATH", ":".join([str(tmp_path), *filter(None, sys.path)]))
    return "a_test_child"


def run_pair(test: Callable[[Channel, Channel], Awaitable[None]]) -> None:
    async def main() -> None:
        one, other = map(Channel.open, socket.socketpair())
        ours, theirs = await one, await other
        await test(ours, theirs)
        await ours.close()
        await theirs.close()

    asyncio.run(main())


def run_child(module: str, test: Callable[[Child], Awaitable[None]], nice: int = 0) -> None:
    async def main() -> None:
        child = await Child.start(module, nice=nice)
        await test(child)
        await child.stop(0)

    asyncio.run(main())


def test_frames_arrive_whole_and_in_order() -> None:
    async def test(ours: Channel, theirs: Channel) -> None:
        sent: list[Frame] = [{"n": n, "data": b"x" * (n * 100_000)} for n in range(4)]
        writing = asyncio.gather(*(ours.write(frame) for frame in sent))
        assert [await theirs.read() for _ in sent] == sent
        await writing

    run_pair(test)


def test_an_end_reads_as_none() -> None:
    async def test(ours: Channel, theirs: Channel) -> None:
        await ours.close()
        assert await theirs.read() is None

    run_pair(test)


def test_a_frame_above_the_bound_is_not_sent() -> None:
    async def test(ours: Channel, theirs: Channel) -> None:
        with pytest.raises(ServerError, match="expected at most"):
            await ours.write({"data": bytes(MAX_FRAME_BYTES)})
        await ours.write({"n": 1})
        assert await theirs.read() == {"n": 1}

    run_pair(test)


def test_what_is_no_frame_is_said_so() -> None:
    async def test(ours: Channel, theirs: Channel) -> None:
        ours._writer.write(b"\xff\xff\xff\xff")
        with pytest.raises(ServerError):
            await theirs.read()
        ours._writer.write(b"\x00\x00\x00\x01\xc1")
        with pytest.raises(ServerError, match="no frame"):
            await theirs.read()

    run_pair(test)


def test_an_answer_that_cannot_be_sent_is_an_error_answer() -> None:
    async def big(_: Frame) -> Frame:
        return {"data": bytes(MAX_FRAME_BYTES)}

    async def test(ours: Channel, theirs: Channel) -> None:
        answering = asyncio.create_task(answer_all(theirs, big))
        await ours.write({"number": 1, "request": {}})
        answer = await ours.read()
        assert answer is not None
        assert answer["error"][0] == "ServerError"
        await ours.close()
        await answering

    run_pair(test)


def test_a_known_error_keeps_its_kind_message_and_hint() -> None:
    error = unpack_error(pack_error(MigrationRefused("no", hint="yes")))
    assert type(error) is MigrationRefused
    assert (error.message, error.hint) == ("no", "yes")


def test_an_error_of_unknown_kind_is_still_one_of_ours() -> None:
    for name in ("Sequence", "ProjectError", "nothing"):
        assert unpack_error([name, "a", "b"]).message == "a"


def test_answers_come_by_number_not_in_order(module: str) -> None:
    async def test(child: Child) -> None:
        slow = child.ask({"do": "echo", "said": 1, "after": 0.2}, timeout_seconds=10)
        fast = child.ask({"do": "echo", "said": 2}, timeout_seconds=10)
        answers = await asyncio.gather(slow, fast)
        assert [one["said"] for one in answers] == [1, 2]

    run_child(module, test)


def test_errors_cross_without_details(module: str) -> None:
    async def test(child: Child) -> None:
        with pytest.raises(ServerError, match="KeyError") as caught:
            await child.ask({"do": "break"}, timeout_seconds=10)
        assert "hidden-detail" not in str(caught.value)
        assert "Traceback" not in str(caught.value)
        answer = await child.ask({"do": "echo", "said": 1}, timeout_seconds=10)
        assert answer["said"] == 1

    run_child(module, test)


def test_an_answer_that_does_not_come_in_time_is_an_error(module: str) -> None:
    async def test(child: Child) -> None:
        with pytest.raises(ServerError, match=r"did not answer 'echo' within 0\.1 seconds"):
            await child.ask({"do": "echo", "said": 1, "after": 1}, timeout_seconds=0.1)
        assert await child.ask({"do": "echo", "said": 2}, timeout_seconds=10)

    run_child(module, test)


def test_a_death_fails_what_was_asked_and_calls_back(module: str) -> None:
    async def test(child: Child) -> None:
        gone: list[Child] = []
        child.on_exit(gone.append)
        with pytest.raises(ChildGone):
            await child.ask({"do": "die"}, timeout_seconds=10)
        assert await child.wait() == 3
        assert gone == [child]
        child.on_exit(gone.append)
        await asyncio.sleep(0)
        assert gone == [child, child]
        with pytest.raises(ChildGone):
            await child.ask({"do": "echo", "said": 1}, timeout_seconds=10)

    run_child(module, test)


@pytest.mark.long
def test_a_child_that_hangs_is_killed_after_its_grace(module: str) -> None:
    async def main() -> None:
        child = await Child.start(module)
        asked = asyncio.create_task(child.ask({"do": "hang"}, timeout_seconds=60))
        await asyncio.sleep(0.5)
        assert await child.stop(0.1) == -9
        with pytest.raises(ChildGone):
            await asked

    asyncio.run(main())


def test_a_child_is_nice_and_has_neither_key_nor_stdin(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BBOPS_KEY", "secret")

    async def test(child: Child) -> None:
        answer = await child.ask({"do": "nice"}, timeout_seconds=10)
        assert answer == {"nice": 7, "key": None, "stdin": ""}

    run_child(module, test, nice=7)


def test_a_dead_child_is_replaced_and_readied_before_it_is_asked(module: str) -> None:
    async def main() -> None:
        ready: list[int] = []

        async def prepare(child: Child) -> None:
            await child.ask({"do": "echo", "said": 0}, timeout_seconds=10)
            ready.append(child.pid)

        living = LivingChild(lambda: Child.start(module), prepare)
        await living.start()
        first = await living.ask({"do": "echo", "said": 1}, timeout_seconds=10)
        with pytest.raises(ChildGone):  # twice: it dies of this request
            await living.ask({"do": "die"}, timeout_seconds=10)
        second = await living.ask({"do": "echo", "said": 1}, timeout_seconds=10)
        assert first["pid"] != second["pid"]
        assert ready[0] == first["pid"]
        assert ready[-1] == second["pid"]
        await living.stop(1)

    asyncio.run(main())


def test_who_waits_for_a_child_that_is_replaced_waits_no_longer_than_until_the_end(
    module: str,
) -> None:
    async def main() -> None:
        starts = 0

        async def start() -> Child:
            nonlocal starts
            starts += 1
            if starts > 1:
                await asyncio.Event().wait()  # a machine that is busy
            return await Child.start(module)

        living = LivingChild(start)
        await living.start()
        pid = living.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        while living.pid is not None:
            await asyncio.sleep(0.01)
        asked = asyncio.create_task(living.ask({"do": "echo", "said": 1}, timeout_seconds=60))
        await asyncio.sleep(0)
        async with asyncio.timeout(10):
            await living.stop(1)
            with pytest.raises(ServerError, match="about to end"):
                await asked
            with pytest.raises(ServerError, match="about to end"):
                await living.ask({"do": "echo", "said": 1}, timeout_seconds=60)

    asyncio.run(main())


def test_a_first_child_that_does_not_start_is_an_error() -> None:
    async def main() -> None:
        async def prepare(child: Child) -> None:
            await child.ask({"do": "echo"}, timeout_seconds=10)

        living = LivingChild(lambda: Child.start("bbops_server.no_such_module"), prepare)
        with pytest.raises(ChildGone):
            await living.start()
        await living.stop(1)

    asyncio.run(main())
