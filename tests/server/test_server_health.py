"""A process that lives and does nothing is as bad as a dead one, and is replaced like one."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
import textwrap
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from bbops_server.process.children import Child, Health, LivingChild
from bbops_server.process.messages.lifecycle.ping import Ping
from tests.support.child_requests import Block, Grow
from tests.support.raw import LAST, send
from tests.support.running import Running, wait_until_gone
from tests.support.small_project import endpoint

QUICK = Health(word_seconds=0.05, silence_seconds=1.5)
PATIENT = Health(word_seconds=0.05, silence_seconds=15.0)
MODULE = """
import asyncio, socket, sys, time
from bbops_server.process.messages.channel import Channel
from bbops_server.process.messages.request import Done
from bbops_server.process.messages.service import Service
from tests.support.child_requests import Block, Grow

kept = []

async def block(request):
    time.sleep(request.seconds)
    return Done()

async def grow(request):
    kept.append(bytearray(64 << 20))
    return Done()

async def main():
    channel = await Channel.open(socket.socket(fileno=int(sys.argv[1])))
    await Service("a child", {Block: block, Grow: grow}).run(channel)

asyncio.run(main())
"""
Test = Callable[[LivingChild], Awaitable[None]]


@pytest.fixture
def living(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    (tmp_path / "a_hanging_child.py").write_text(textwrap.dedent(MODULE))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, sys.path)]))

    def run(test: Test, *, health: Health = QUICK, is_quiet_at_work: bool = False) -> None:
        async def main() -> None:
            child = LivingChild(
                lambda: Child.start("a_hanging_child"), awake,
                health=health, is_quiet_at_work=is_quiet_at_work,
            )  # fmt: skip
            await child.start()
            try:
                async with asyncio.timeout(60):
                    await test(child)
            finally:
                await child.stop(1)

        asyncio.run(main())

    return run


async def awake(child: Child) -> None:
    await child.ask(Ping(), timeout_seconds=30)  # its own imports are not what is tested here


async def replaced(child: LivingChild) -> None:
    while not child.replaced or child.pid is None:
        await asyncio.sleep(0.02)


@pytest.mark.long
def test_a_process_that_hangs_is_killed_and_replaced(
    living: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    async def test(child: LivingChild) -> None:
        begun = time.monotonic()
        await child.ask(Ping(), timeout_seconds=20)  # what is asked before it runs counts as well
        first = child.pid
        assert first is not None
        os.kill(first, signal.SIGSTOP)
        await replaced(child)
        assert time.monotonic() - begun > 1.4
        assert child.pid != first

    with caplog.at_level(logging.ERROR):
        living(test)
    assert "did not respond for 1.5 s and is killed" in caplog.text


def test_a_process_that_is_late_once_is_left_alone(living: Callable[..., None]) -> None:
    async def test(child: LivingChild) -> None:
        await child.ask(Block(0.3), timeout_seconds=20)
        await asyncio.sleep(0.5)
        assert child.replaced == 0

    living(test, health=PATIENT)


@pytest.mark.long
def test_who_stood_still_himself_does_not_kill(living: Callable[..., None]) -> None:
    async def test(child: LivingChild) -> None:
        for _ in range(3):
            await asyncio.sleep(0.06)
            time.sleep(2.0)
        await asyncio.sleep(0.5)
        assert child.replaced == 0

    living(test)


@pytest.mark.long
def test_a_process_that_is_quiet_at_work_may_work_for_long(living: Callable[..., None]) -> None:
    async def test(child: LivingChild) -> None:
        await child.ask(Block(3), timeout_seconds=20)
        assert child.replaced == 0

    living(test, is_quiet_at_work=True)


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")
def test_a_process_that_grows_too_large_is_replaced(
    living: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    async def test(child: LivingChild) -> None:
        await child.ask(Grow(), timeout_seconds=20)
        await child.ask(Grow(), timeout_seconds=20)
        await replaced(child)

    with caplog.at_level(logging.ERROR):
        living(test, health=Health(0.05, 5.0, most_bytes=128 << 20, grace_seconds=1.0))
    assert "MiB of memory and ends" in caplog.text


@pytest.mark.long
def test_a_data_process_that_hangs_is_replaced_and_connections_wait_for_the_new_one(
    tmp_path: Path,
) -> None:
    server = Running(tmp_path, 1)
    try:
        os.kill(server.data_pids[0], signal.SIGSTOP)
        begun = time.monotonic()
        wait_until_gone(server.data_pids)
        (answer,) = send(server.url, LAST)
        seconds = time.monotonic() - begun
        print(f"\nserved again after {seconds:.1f} s")
        assert answer.status == 200
        assert seconds < 40
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
        begun = time.monotonic()
        (answer,) = send(server.url, posted("/search", "word", "a" * 450_000 + "b"))
        assert answer.status == 400
        (answer,) = send(server.url, posted("/search", "word", "a" * 999 + "b"))
        assert answer.status == 200
        (answer,) = send(server.url, LAST)
        assert answer.status == 200
        assert time.monotonic() - begun < 20
        assert server.publish({})["replaced"] == 0
    finally:
        server.close()
