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

import msgspec
import pytest

from bbops.base.errors import MigrationRefused, ServerError
from bbops_server.process.children import Child, ChildGone, SupervisedChild
from bbops_server.process.messages.channel import ProcessChannel
from bbops_server.process.messages.frames import (
    MAX_FRAME_BYTES,
    ErrorFrame,
    EventFrame,
    RequestFrame,
    encode,
)
from bbops_server.process.messages.request import (
    MessageReader,
    pack_error,
    read_answer,
    unpack_error,
)
from bbops_server.process.messages.service import RequestService
from tests.support.child_requests import (
    Announce,
    Announced,
    Break,
    ChildAnswer,
    Die,
    Echo,
    Hang,
    Look,
    Mistake,
    Surroundings,
    Unknown,
)
from tests.support.patience import PATIENCE_SECONDS, eventually, patience, settle

MODULE = """
import asyncio, os, socket, sys, time
import msgspec
from bbops.base.errors import GitError
from bbops_server.process.messages.channel import ProcessChannel
from bbops_server.process.messages.request import DoneAnswer
from bbops_server.process.messages.service import RequestService
from tests.support.child_requests import *

class Child:
    async def echo(self, request):
        await asyncio.sleep(request.after)
        return ChildAnswer(request.said, os.getpid())

    async def refuse(self, request):
        raise GitError("no", hint="yes")

    async def break_(self, request):
        raise KeyError("hidden-detail")

    async def mistake(self, request):
        return ChildAnswer(1, 2)

    async def die(self, request):
        os._exit(3)

    async def look(self, request):
        return Surroundings(os.nice(0), os.environ.get("BBOPS_KEY"), sys.stdin.read())

    async def hang(self, request):
        time.sleep(60)

    async def announce(self, request):
        self.channel.post(Announced(request.text))
        return DoneAnswer()

    async def main(self):
        self.channel = await ProcessChannel.open(socket.socket(fileno=int(sys.argv[1])))
        await RequestService("a child", {
            Echo: self.echo, RefuseThis: self.refuse, Break: self.break_, Mistake: self.mistake,
            Die: self.die, Look: self.look, Hang: self.hang, Announce: self.announce,
        }).run(self.channel)

asyncio.run(Child().main())
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "a_test_child.py").write_text(textwrap.dedent(MODULE))
    monkeypatch.setenv("PYTHONPATH", ":".join([str(tmp_path), *filter(None, sys.path)]))
    return "a_test_child"


def run_pair(test: Callable[[ProcessChannel, ProcessChannel], Awaitable[None]]) -> None:
    async def main() -> None:
        one, other = map(ProcessChannel.open, socket.socketpair())
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
    async def test(ours: ProcessChannel, theirs: ProcessChannel) -> None:
        sent = [RequestFrame(n, encode(Echo("x" * (n * 100_000)))) for n in range(4)]
        writing = asyncio.gather(*(ours.write(frame) for frame in sent))
        for frame in sent:
            found = await theirs.read()
            assert isinstance(found, RequestFrame)
            assert (found.number, bytes(found.request)) == (frame.number, bytes(frame.request))
        await writing

    run_pair(test)


def test_an_end_reads_as_none() -> None:
    async def test(ours: ProcessChannel, theirs: ProcessChannel) -> None:
        await ours.close()
        assert await theirs.read() is None

    run_pair(test)


def test_a_frame_above_the_bound_is_not_sent() -> None:
    async def test(ours: ProcessChannel, theirs: ProcessChannel) -> None:
        with pytest.raises(ServerError, match="expected at most"):
            await ours.write(EventFrame(encode(Announced("x" * MAX_FRAME_BYTES))))
        await ours.write(ErrorFrame(1, "ServerError", "no", ""))
        assert await theirs.read() == ErrorFrame(1, "ServerError", "no", "")

    run_pair(test)


def test_what_is_no_frame_is_said_so() -> None:
    async def test(ours: ProcessChannel, theirs: ProcessChannel) -> None:
        ours._writer.write(b"\xff\xff\xff\xff")
        with pytest.raises(ServerError):
            await theirs.read()
        ours._writer.write(b"\x00\x00\x00\x01\xc1")
        with pytest.raises(ServerError, match="invalid frame"):
            await theirs.read()
        for odd in (Echo(1), ["RequestFrame", "one", None], ["Nothing", 1], [], 1):
            ours._writer.write(_framed(odd))
            with pytest.raises(ServerError, match="invalid frame"):
                await theirs.read()

    run_pair(test)


def _framed(value: object) -> bytes:
    data = msgspec.msgpack.encode(value)
    return len(data).to_bytes(4, "big") + data


def test_an_answer_that_cannot_be_sent_is_an_error_answer() -> None:
    async def big(_: Echo) -> ChildAnswer:
        return ChildAnswer("x" * MAX_FRAME_BYTES, 1)

    async def test(ours: ProcessChannel, theirs: ProcessChannel) -> None:
        answering = asyncio.create_task(RequestService("a child", {Echo: big}).run(theirs))
        await ours.write(RequestFrame(1, encode(Echo(1))))
        answer = await ours.read()
        assert isinstance(answer, ErrorFrame)
        assert answer.kind == "ServerError"
        await ours.close()
        await answering

    run_pair(test)


def test_a_known_error_keeps_its_kind_message_and_hint() -> None:
    error = unpack_error(pack_error(1, MigrationRefused("no", hint="yes")))
    assert type(error) is MigrationRefused
    assert (error.message, error.hint) == ("no", "yes")


def test_an_error_of_unknown_kind_is_still_one_of_ours() -> None:
    for name in ("Sequence", "ProjectError", "nothing"):
        assert unpack_error(ErrorFrame(1, name, "a", "b")).message == "a"


def test_answers_come_by_number_not_in_order(module: str) -> None:
    async def test(child: Child) -> None:
        slow = child.ask(Echo(1, 0.2), timeout_seconds=PATIENCE_SECONDS)
        fast = child.ask(Echo(2), timeout_seconds=PATIENCE_SECONDS)
        answers = await asyncio.gather(slow, fast)
        assert [one.said for one in answers] == [1, 2]

    run_child(module, test)


def test_errors_cross_without_details(module: str) -> None:
    async def test(child: Child) -> None:
        with pytest.raises(ServerError, match="KeyError") as caught:
            await child.ask(Break(), timeout_seconds=PATIENCE_SECONDS)
        assert "hidden-detail" not in str(caught.value)
        assert "Traceback" not in str(caught.value)
        answer = await child.ask(Echo(1), timeout_seconds=PATIENCE_SECONDS)
        assert answer.said == 1

    run_child(module, test)


def test_a_request_that_a_process_does_not_know_is_refused(module: str) -> None:
    async def test(child: Child) -> None:
        with pytest.raises(ServerError, match="a child has no request 'Unknown'") as caught:
            await child.ask(Unknown(), timeout_seconds=PATIENCE_SECONDS)
        assert "restart the server" in caught.value.hint
        assert (await child.ask(Echo(1), timeout_seconds=PATIENCE_SECONDS)).said == 1

    run_child(module, test)


@pytest.mark.parametrize(
    ("sent", "what"),
    [
        ({"message": "Echo"}, "missing required field `said`"),
        ({"message": "Echo", "said": 1, "after": "now"}, "Expected `float`, got `str`"),
        ({"message": "Echo", "said": 1, "extra": 1}, "unknown field `extra`"),
        ({"message": "echo", "said": 1}, "has no request 'echo'"),
        ({"do": "echo"}, "has no request ''"),
        ("echo", "has no request ''"),
    ],
)
def test_a_malformed_request_is_refused(sent: object, what: str) -> None:
    reader = MessageReader("a child", [Echo, Break])
    with pytest.raises(ServerError, match=what):
        reader.read(msgspec.Raw(msgspec.msgpack.encode(sent)))


def test_a_malformed_answer_is_an_error_to_whoever_asked() -> None:
    sent = msgspec.Raw(msgspec.msgpack.encode({"said": 1, "pid": "mine"}))
    with pytest.raises(ServerError, match="a child sent a malformed answer to 'Echo'"):
        read_answer(Echo(1), sent, "a child")


def test_an_answer_to_another_request_does_not_leave_the_process(module: str) -> None:
    async def test(child: Child) -> None:
        with pytest.raises(ServerError, match="TypeError"):
            await child.ask(Mistake(), timeout_seconds=PATIENCE_SECONDS)

    run_child(module, test)


def test_an_event_reaches_who_waits_for_it(module: str) -> None:
    async def test(child: Child) -> None:
        heard = asyncio.Queue[Announced]()
        child.on_event(Announced, heard.put_nowait)
        await child.ask(Announce("hello"), timeout_seconds=PATIENCE_SECONDS)
        async with patience():
            assert (await heard.get()).text == "hello"

    run_child(module, test)


def test_an_event_that_nobody_waits_for_is_passed_over(module: str) -> None:
    async def test(child: Child) -> None:
        await child.ask(Announce("hello"), timeout_seconds=PATIENCE_SECONDS)
        assert (await child.ask(Echo(1), timeout_seconds=PATIENCE_SECONDS)).said == 1

    run_child(module, test)


def test_a_message_never_shows_its_values() -> None:
    assert "secret" not in f"{Announced('secret')} {Echo('secret')!r}"


def test_an_answer_that_does_not_come_in_time_is_an_error(module: str) -> None:
    async def test(child: Child) -> None:
        with pytest.raises(ServerError, match=r"did not answer 'Echo' within 0\.1 seconds"):
            await child.ask(Echo(1, 1), timeout_seconds=0.1)
        assert await child.ask(Echo(2), timeout_seconds=PATIENCE_SECONDS)

    run_child(module, test)


def test_a_death_fails_what_was_asked_and_calls_back(module: str) -> None:
    async def test(child: Child) -> None:
        gone: list[Child] = []
        child.on_exit(gone.append)
        with pytest.raises(ChildGone):
            await child.ask(Die(), timeout_seconds=PATIENCE_SECONDS)
        assert await child.wait() == 3
        assert gone == [child]
        child.on_exit(gone.append)
        await asyncio.sleep(0)
        assert gone == [child, child]
        with pytest.raises(ChildGone):
            await child.ask(Echo(1), timeout_seconds=PATIENCE_SECONDS)

    run_child(module, test)


@pytest.mark.long
def test_a_child_that_hangs_is_killed_after_its_grace(module: str) -> None:
    async def main() -> None:
        child = await Child.start(module)
        await child.ask(Echo(1), timeout_seconds=PATIENCE_SECONDS)  # it has started
        asked = asyncio.create_task(child.ask(Hang(), timeout_seconds=PATIENCE_SECONDS))
        await eventually(lambda: child.is_busy)
        assert await child.stop(0.1) == -9
        with pytest.raises(ChildGone):
            await asked

    asyncio.run(main())


def test_a_child_is_nice_and_has_neither_key_nor_stdin(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BBOPS_KEY", "secret")

    async def test(child: Child) -> None:
        answer = await child.ask(Look(), timeout_seconds=PATIENCE_SECONDS)
        assert answer == Surroundings(7, None, "")

    run_child(module, test, nice=7)


@pytest.mark.long
def test_a_dead_child_is_replaced_and_readied_before_it_is_asked(module: str) -> None:
    async def main() -> None:
        ready: list[int] = []

        async def prepare(child: Child) -> None:
            await child.ask(Echo(0), timeout_seconds=PATIENCE_SECONDS)
            ready.append(child.pid)

        living = SupervisedChild(lambda: Child.start(module), prepare)
        await living.start()
        first = await living.ask(Echo(1), timeout_seconds=PATIENCE_SECONDS)
        with pytest.raises(ChildGone):  # twice: it dies of this request
            await living.ask(Die(), timeout_seconds=PATIENCE_SECONDS)
        second = await living.ask(Echo(1), timeout_seconds=PATIENCE_SECONDS)
        assert first.pid != second.pid
        assert ready[0] == first.pid
        assert ready[-1] == second.pid
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

        living = SupervisedChild(start)
        await living.start()
        pid = living.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await eventually(lambda: living.pid is None)
        asked = asyncio.create_task(living.ask(Echo(1), timeout_seconds=2 * PATIENCE_SECONDS))
        await settle()
        async with patience():
            await living.stop(1)
            with pytest.raises(ServerError, match="shutting down"):
                await asked
            with pytest.raises(ServerError, match="shutting down"):
                await living.ask(Echo(1), timeout_seconds=60)

    asyncio.run(main())


def test_a_first_child_that_does_not_start_is_an_error() -> None:
    async def main() -> None:
        async def prepare(child: Child) -> None:
            await child.ask(Echo(1), timeout_seconds=PATIENCE_SECONDS)

        living = SupervisedChild(lambda: Child.start("bbops_server.no_such_module"), prepare)
        with pytest.raises(ChildGone):
            await living.start()
        await living.stop(1)

    asyncio.run(main())
