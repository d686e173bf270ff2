"""Child processes of the server: send them requests, and replace them when they end or hang."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol, TypeVar

import msgspec

from bbops.base.errors import BbopsError, ServerError
from bbops_server.process.host.secrets import KEY_VARIABLE
from bbops_server.process.host.system import memory_bytes
from bbops_server.process.messages.channel import ProcessChannel
from bbops_server.process.messages.frames import (
    AnswerFrame,
    ErrorFrame,
    EventFrame,
    Frame,
    RequestFrame,
    encode,
)
from bbops_server.process.messages.lifecycle import Ping, Stop
from bbops_server.process.messages.request import (
    A,
    EventMessage,
    MessageReader,
    RequestMessage,
    read_answer,
    unpack_error,
)

_log = logging.getLogger(__name__)
E = TypeVar("E", bound=EventMessage)

_EXIT_SECONDS = 2.0  # for the exit of a child after its answer to `Stop`
_MAX_PAUSE_SECONDS = 5.0


class ChildGone(ServerError):
    """The process ended before it sent its answer."""


class ChildTimeout(ServerError):
    """The process did not answer in time. It may still work on the request."""


@dataclass(frozen=True, slots=True)
class HealthPolicy:
    """The limits above which a running process is replaced."""

    ping_seconds: float = 2.0
    """The interval between two pings."""
    timeout_seconds: float = 10.0
    """A process that does not answer a ping for this time is killed."""
    max_bytes: int = 2 << 30
    """Memory, if the system reports it. A larger process finishes its requests and ends."""
    grace_seconds: float = 10.0


class RunningProcess(Protocol):
    """A process that this one or a zygote has started."""

    @property
    def pid(self) -> int:
        """The process id."""
        ...

    def kill(self) -> None:
        """Kill the process."""
        ...

    async def wait(self) -> int:
        """Wait for the end of the process, and return its exit status."""
        ...


class Child:
    """A process that answers requests. It ends when this process ends."""

    def __init__(self, module: str, process: RunningProcess, channel: ProcessChannel) -> None:
        """Wrap a process that is running already; `start` starts a new process."""
        self._module, self._process, self._channel = module, process, channel
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[msgspec.Raw]] = {}
        self._callbacks: list[Callable[[Child], None]] = []
        self._on_events: dict[type[EventMessage], Callable[[Any], None]] = {}
        self._events: MessageReader[EventMessage] | None = None
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def start(
        cls, module: str, *, fds: Sequence[int] = (), words: Sequence[str] = (), nice: int = 0,
        env: Mapping[str, str] | None = None,
    ) -> Child:  # fmt: skip
        """Start `python -m module CONTROL_FD *fds *words`; it inherits these descriptors.

        It gets its own session, so that Ctrl-C in a terminal reaches only the parent, which stops
        its children. Without `env`, it gets the environment except the key of the secrets.

        Raises:
            ServerError: the system cannot start another process.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            passed = (theirs.fileno(), *fds)
            try:
                process = await asyncio.create_subprocess_exec(
                    # -P: a package in the current folder must not replace a package of the server
                    *(sys.executable, "-P", "-m", module, *map(str, passed), *words),
                    stdin=asyncio.subprocess.DEVNULL,
                    pass_fds=passed,
                    start_new_session=True,
                    env=_environment() if env is None else env,
                )
            except OSError as error:
                ours.close()
                raise ServerError(f"cannot start a process: {error.strerror}") from None
        if nice:
            # before it starts threads: on Linux each thread has its own niceness
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, process.pid, nice)
        return cls(module, process, await ProcessChannel.open(ours))

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    async def ask(self, request: RequestMessage[A], *, timeout_seconds: float) -> A:
        """Send a request and return its answer. Several requests may run concurrently.

        Raises:
            BbopsError: the error that the child returned, or a malformed answer.
            ChildGone: the process ended before it answered.
            ChildTimeout: the process did not answer in time.
        """
        number = next(self._numbers)
        answer: asyncio.Future[msgspec.Raw] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        if self._listening.done():
            self._fail_waiting()
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._channel.write(RequestFrame(number, encode(request)))
                return read_answer(request, await answer, f"process '{self._module}'")
        except TimeoutError:
            raise ChildTimeout(
                f"process '{self._module}' did not answer '{type(request).__name__}' within"
                f" {timeout_seconds:g} seconds"
            ) from None
        except ConnectionError:
            raise self._gone() from None
        finally:
            self._waiting.pop(number).cancel()

    @property
    def is_busy(self) -> bool:
        """Whether a request is running."""
        return bool(self._waiting)

    async def is_unresponsive(self, seconds: float) -> bool:
        """Return whether the process does not answer pings. An error counts as an answer."""
        with suppress(BbopsError):
            # two pings: if this process was suspended, the first answer is here but unread
            for share in (0.8, 0.2):
                try:
                    await self.ask(Ping(), timeout_seconds=share * seconds)
                except ChildTimeout:
                    continue
                return False
            return True
        return False

    def kill(self) -> None:
        """Kill the process, whether it is idle or busy."""
        with suppress(ProcessLookupError):
            self._process.kill()

    def on_event(self, kind: type[E], callback: Callable[[E], None]) -> None:
        """Call back with each event of a kind. Events without a callback are ignored."""
        self._on_events[kind] = callback
        self._events = MessageReader("the server", self._on_events)

    def on_exit(self, callback: Callable[[Child], None]) -> None:
        """Call back when the process has ended; soon, if it has ended already."""
        if self._listening.done():
            asyncio.get_running_loop().call_soon(callback, self)
        else:
            self._callbacks.append(callback)

    async def wait(self) -> int:
        """Wait for the end of the process, and return its exit status; a signal is negative."""
        await asyncio.shield(self._listening)
        return await self._process.wait()

    async def stop(self, grace_seconds: float) -> int:
        """Stop the process and return its exit status, not much later than the grace period.

        It may finish its requests within `grace_seconds`, and is killed afterwards.
        """
        with suppress(BbopsError):
            await self.ask(Stop(grace_seconds), timeout_seconds=grace_seconds + _EXIT_SECONDS)
        await self._channel.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_EXIT_SECONDS):
                return await self.wait()
        self.kill()
        return await self.wait()

    async def leave(self) -> int:
        """Close the channel, which ends the process; return its exit status."""
        await self._channel.close()
        return await self.wait()

    async def _listen(self) -> None:
        try:
            while (frame := await self._channel.read()) is not None:
                self._handle(frame)
        except ServerError:
            _log.exception("process '%s' sent an invalid message and will be killed", self._module)
            self.kill()
        finally:  # also on cancellation: the process ends when its channel is closed
            await self._channel.close()
        self._fail_waiting()
        await self._process.wait()
        for callback in self._callbacks:
            callback(self)

    def _handle(self, frame: Frame) -> None:
        match frame:
            case EventFrame():
                self._call_back(frame.event)
            case AnswerFrame() if waiting := self._find_waiting(frame.number):
                waiting.set_result(frame.answer)
            case ErrorFrame() if waiting := self._find_waiting(frame.number):
                waiting.set_exception(unpack_error(frame))

    def _find_waiting(self, number: int) -> asyncio.Future[msgspec.Raw] | None:
        answer = self._waiting.get(number)
        return answer if answer and not answer.done() else None  # the caller may be cancelled

    def _call_back(self, data: msgspec.Raw) -> None:
        if self._events is not None:
            event = self._events.read(data)
            self._on_events[type(event)](event)

    def _fail_waiting(self) -> None:
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(self._gone())

    def _gone(self) -> ChildGone:
        return ChildGone(f"process '{self._module}' ended before it answered")


class SupervisedChild:
    """A child process that is replaced when it ends or hangs."""

    def __init__(
        self,
        start: Callable[[], Awaitable[Child]],
        prepare: Callable[[Child], Awaitable[None]] | None = None,
        *,
        health: HealthPolicy | None = None,
        skips_pings_when_busy: bool = False,
    ) -> None:
        """Create a supervisor without a process.

        Args:
            start: starts a process.
            prepare: sends the first requests to each new process.
            health: the limits of the process.
            skips_pings_when_busy: the process cannot answer pings while a request is running.
        """
        self._start, self._prepare = start, prepare
        self._health, self._skips_pings_when_busy = health or HealthPolicy(), skips_pings_when_busy
        self.replaced = 0
        self._living = asyncio.Event()
        self._child: Child | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._is_stopped = False

    @property
    def pid(self) -> int | None:
        """The process id, None while a dead process is being replaced."""
        return self._child.pid if self._child else None

    async def start(self) -> None:
        """Start the first process.

        Raises:
            BbopsError: the process does not start, or ends at once; it is not replaced then.
        """
        child = await self._make()
        self._keeping = asyncio.create_task(self._keep(child))

    async def ask(self, request: RequestMessage[A], *, timeout_seconds: float) -> A:
        """Send a request as `Child.ask`; while the process is being replaced, wait within the time.

        If the process ends during the request, the request is sent once more, so it must be
        idempotent.
        """
        until = asyncio.get_running_loop().time() + timeout_seconds
        child = await self._current(until)
        try:
            return await child.ask(request, timeout_seconds=_seconds_until(until))
        except ChildGone:
            await child.wait()
        child = await self._current(until)
        return await child.ask(request, timeout_seconds=_seconds_until(until))

    async def stop(self, grace_seconds: float) -> None:
        """Stop the process and do not replace it. Waiting requests fail."""
        self._is_stopped = True
        if self._keeping is not None:
            self._keeping.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeping
        if self._child is not None:
            await self._child.stop(grace_seconds)
        self._living.set()

    async def _current(self, until: float) -> Child:
        try:
            async with asyncio.timeout_at(until):
                while self._child is None:
                    if self._is_stopped:
                        raise ServerError("the server is shutting down, and starts no processes")
                    await self._living.wait()
                return self._child
        except TimeoutError:
            raise ServerError(
                "a process that ended could not be replaced in time",
                hint="the server's log says why it ends",
            ) from None

    async def _make(self) -> Child:
        child = await self._start()
        try:
            if self._prepare is not None:
                await self._prepare(child)
        except BaseException:
            await child.stop(0)
            raise
        child.on_exit(self._handle_exit)
        self._child = child
        self._living.set()
        return child

    def _handle_exit(self, child: Child) -> None:
        if self._child is child:
            self._child = None
            self._living.clear()

    async def _keep(self, child: Child) -> None:
        while True:
            started = asyncio.get_running_loop().time()
            watching = asyncio.create_task(self._watch(child))
            try:
                status = await child.wait()
            finally:
                watching.cancel()
            self.replaced += 1
            _log.error("process %d ended with status %d and is replaced", child.pid, status)
            lived = asyncio.get_running_loop().time() - started
            child = await self._replace(pause_seconds=0.0 if lived > 1 else 0.5)

    async def _watch(self, child: Child) -> None:
        """Kill an unresponsive process, and stop a process with too much memory."""
        health = self._health
        while True:
            await asyncio.sleep(health.ping_seconds)  # the system does not report hanging processes
            if self._skips_pings_when_busy and child.is_busy:
                continue
            if await child.is_unresponsive(health.timeout_seconds):
                if self._skips_pings_when_busy and child.is_busy:
                    continue
                seconds = health.timeout_seconds
                _log.error("process %d did not respond for %g s and is killed", child.pid, seconds)
                child.kill()
                return
            if (size := memory_bytes(child.pid)) > health.max_bytes:
                _log.error("process %d has %d MiB of memory and ends", child.pid, size >> 20)
                await child.stop(health.grace_seconds)
                return

    async def _replace(self, pause_seconds: float) -> Child:
        while True:
            await asyncio.sleep(pause_seconds)
            try:
                return await self._make()
            except BbopsError as error:
                _log.error("cannot replace a process: %s", error)
            pause_seconds = min(2 * pause_seconds + 0.1, _MAX_PAUSE_SECONDS)


_hidden = {KEY_VARIABLE}


def hide_variables(names: Iterable[str]) -> None:
    """Keep variables out of the environment of processes that start from now on.

    Args:
        names: the variables of the server's own secrets, which no code of a project needs.
    """
    _hidden.update(names)


def _environment() -> dict[str, str]:
    return {name: text for name, text in os.environ.items() if name not in _hidden}


def _seconds_until(until: float) -> float:
    return until - asyncio.get_running_loop().time()
