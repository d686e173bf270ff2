"""A process that lives and does nothing is as bad as a dead one, and is replaced like one."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import select
import signal
import sys
import textwrap
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from bbops_server.process.children import Child, HealthPolicy, SupervisedChild
from bbops_server.process.messages.lifecycle import Ping
from bbops_server.process.messages.request import A, RequestMessage
from tests.support.child_requests import Block, Grow
from tests.support.clock import MovedTimersLoop, move_clock
from tests.support.patience import PATIENCE_SECONDS, eventually, settle, wait_for
from tests.support.raw import LAST, send
from tests.support.running import Running, is_alive, wait_until_gone
from tests.support.small_project import endpoint

SILENCE_SECONDS = 3600.0
"""Far longer than a test takes: it passes only when the test moves the clock."""

HEALTH = HealthPolicy(ping_seconds=0.05, timeout_seconds=SILENCE_SECONDS)
MODULE = """
import asyncio, socket, sys, time
from bbops_server.process.messages.channel import ProcessChannel
from bbops_server.process.messages.request import DoneAnswer
from bbops_server.process.messages.service import RequestService
from tests.support.child_requests import Block, Grow

kept = []

async def block(request):
    time.sleep(request.seconds)
    return DoneAnswer()

async def grow(request):
    kept.append(bytearray(64 << 20))
    return DoneAnswer()

async def main():
    channel = await ProcessChannel.open(socket.socket(fileno=int(sys.argv[1])))
    await RequestService("a child", {Block: block, Grow: grow}).run(channel)

asyncio.run(main())
"""


class Supervision:
    """A child that is replaced, and the processes that were started for it."""

    def __init__(self, *, health: HealthPolicy, skips_pings_when_busy: bool) -> None:
        self.started = list[Child]()
        self.living = SupervisedChild(
            lambda: Child.start("a_hanging_child"), self._prepare,
            health=health, skips_pings_when_busy=skips_pings_when_busy,
        )  # fmt: skip

    async def _prepare(self, child: Child) -> None:
        """Wait until a process has imported what it needs: that takes its time."""
        await child.ask(Ping(), timeout_seconds=math.inf)
        self.started.append(child)

    async def ask(self, request: RequestMessage[A]) -> A:
        """Return the answer of the living process, whenever it comes."""
        return await self.living.ask(request, timeout_seconds=math.inf)

    async def halt(self) -> Child:
        """Halt the first process, and return it once its word is waited for."""
        child = self.started[0]
        await eventually(lambda: not child.is_busy)  # the word before has come
        os.kill(child.pid, signal.SIGSTOP)
        await eventually(lambda: child.is_busy)
        return child


Test = Callable[[Supervision], Awaitable[None]]


def has_unread(child: Child) -> bool:
    """Return whether the child has sent bytes that the event loop has not read yet."""
    end = child._channel._writer.get_extra_info("socket")
    return bool(select.select([end], [], [], 0)[0])


@pytest.fixture
def watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    (tmp_path / "a_hanging_child.py").write_text(textwrap.dedent(MODULE))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, sys.path)]))

    def run(
        test: Test, *, health: HealthPolicy = HEALTH, skips_pings_when_busy: bool = False
    ) -> None:
        async def main() -> None:
            processes = Supervision(health=health, skips_pings_when_busy=skips_pings_when_busy)
            await processes.living.start()
            try:
                await test(processes)
            finally:
                await processes.living.stop(PATIENCE_SECONDS)

        with asyncio.Runner(loop_factory=MovedTimersLoop) as runner:
            runner.run(main())

    return run


def test_a_process_that_hangs_is_killed_and_replaced(
    watch: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    async def test(processes: Supervision) -> None:
        child, silent_seconds, step = await processes.halt(), 0.0, SILENCE_SECONDS / 5
        while is_alive(child.pid):
            move_clock(step)
            silent_seconds += step
            await settle()
        assert silent_seconds >= SILENCE_SECONDS
        await processes.ask(Ping())
        assert processes.living.pid == processes.started[1].pid != child.pid

    with caplog.at_level(logging.ERROR):
        watch(test)
    assert "did not respond for 3600 s and is killed" in caplog.text


def test_a_process_that_is_late_once_is_left_alone(watch: Callable[..., None]) -> None:
    async def test(processes: Supervision) -> None:
        child = await processes.halt()
        move_clock(0.9 * SILENCE_SECONDS)
        await settle()
        os.kill(child.pid, signal.SIGCONT)
        await processes.ask(Ping())
        assert processes.living.replaced == 0

    watch(test)


def test_a_watcher_that_stood_still_itself_does_not_kill(watch: Callable[..., None]) -> None:
    async def test(processes: Supervision) -> None:
        for _ in range(3):
            child = await processes.halt()
            os.kill(child.pid, signal.SIGCONT)
            wait_for(partial(has_unread, child))
            move_clock(2 * SILENCE_SECONDS)
            await processes.ask(Ping())
            assert processes.living.replaced == 0

    watch(test)


def test_a_process_that_skips_pings_when_busy_may_work_for_long(watch: Callable[..., None]) -> None:
    async def test(processes: Supervision) -> None:
        child = await processes.halt()
        working = asyncio.create_task(processes.ask(Block(0)))
        for _ in range(10):
            move_clock(SILENCE_SECONDS)
            await settle()
        os.kill(child.pid, signal.SIGCONT)
        await working
        assert processes.living.replaced == 0

    watch(test, skips_pings_when_busy=True)


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")
def test_a_process_that_grows_too_large_is_replaced(
    watch: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    async def test(processes: Supervision) -> None:
        await processes.ask(Grow())
        await processes.ask(Grow())
        await eventually(lambda: len(processes.started) > 1)

    with caplog.at_level(logging.ERROR):
        watch(test, health=replace(HEALTH, max_bytes=128 << 20))
    assert "MiB of memory and ends" in caplog.text


@pytest.mark.long
def test_a_data_process_that_hangs_is_replaced_and_connections_wait_for_the_new_one(
    tmp_path: Path,
) -> None:
    server = Running(tmp_path, 1)
    try:
        os.kill(server.data_pids[0], signal.SIGSTOP)
        wait_until_gone(server.data_pids)
        (answer,) = send(server.url, LAST)
        assert answer.status == 200
        assert server.publish({})["replaced"] == 1
        assert "did not respond for 10 s" in Path(server.log.name).read_text()
    finally:
        server.close()


@pytest.mark.long
def test_while_a_data_process_hangs_the_others_answer_and_it_is_replaced_once(
    tmp_path: Path,
) -> None:
    server = Running(tmp_path, 2)
    try:
        os.kill(server.data_pids[0], signal.SIGSTOP)
        for _ in range(20):
            (answer,) = send(server.url, LAST)
            assert answer.status == 200
        wait_until_gone(server.data_pids[:1])
        for _ in range(20):
            (answer,) = send(server.url, LAST)
            assert answer.status == 200
        assert server.publish({})["replaced"] == 1
    finally:
        server.close()


SEARCH = {
    "tables/notes.yaml": "columns:\n  id: { type: integer, primaryKey: true, auto: increment }\n"
    "  title: { type: text, maxLength: 1000000 }\n",
    "functions/add.yaml": "input:\n  title: string\nsteps:\n"
    "  - insert: { table: notes, data: { title: '${ input.title }' } }\n"
    "  - return: { status: 201 }\n",
    "functions/search.yaml": "input:\n  word: string\nsteps:\n"
    "  - find: { table: notes, where: title | contains(input.word) }\n    as: notes\n"
    "  - return: { value: { count: '${ vars.notes | length }' } }\n",
    "endpoints/search.yaml": endpoint("POST", "/search", "search"),
}


def posted(path: str, name: str, text: str) -> bytes:
    body = json.dumps({name: text}).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n"
    return (
        f"{head}content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode()
        + body
    )


@pytest.mark.long
def test_one_anonymous_search_for_a_long_text_ends_no_process(tmp_path: Path) -> None:
    server = Running(tmp_path, 1)
    try:
        server.publish(SEARCH)
        for _ in range(3):
            (answer,) = send(server.url, posted("/notes", "title", "a" * 900_000))
            assert answer.status == 201
        (answer,) = send(server.url, posted("/search", "word", "a" * 450_000 + "b"))
        assert answer.status == 400
        (answer,) = send(server.url, posted("/search", "word", "a" * 999 + "b"))
        assert answer.status == 200
        (answer,) = send(server.url, LAST)
        assert answer.status == 200
        assert server.publish({})["replaced"] == 0
    finally:
        server.close()
