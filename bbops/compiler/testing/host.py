"""The host of tests: fixed time, repeatable chance, a kept log, files in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from io import BytesIO
from typing import Any, BinaryIO

import msgspec

from bbops.base.doors import Files, Listed, Parts, RunFile
from bbops.base.host import Addons, Database, Host, Http, HttpRequest, HttpResponse, MailRequest
from bbops.runtime.values.failures import Failure, Thrown


@dataclass
class StillClock:
    """Stands at one moment until it is set."""

    moment: datetime = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    def now(self) -> datetime:
        """Return the moment."""
        return self.moment


@dataclass
class JumpingWaits:
    """Moves the clock on in place of waiting; no event ever comes."""

    clock: StillClock

    def pause(self, length_ms: int) -> None:
        """Be behind a time at once."""
        self.clock.moment += timedelta(milliseconds=length_ms)

    async def hear(
        self, event: str, is_it: Callable[[Any], bool], value: str, longest_ms: int
    ) -> None:
        """Be behind the time after which an event is given up."""
        del event, is_it, value
        self.pause(longest_ms)


@dataclass
class CountingRandom:
    """Counts instead of guessing: every run of a test gets the same ids."""

    count: int = 0

    def uuid(self) -> str:
        """Return the next id: `…0001`, `…0002` and so on."""
        self.count += 1
        return f"00000000-0000-4000-8000-{self.count:012d}"

    def token(self, length: int) -> str:
        """Return the count, padded with `t`."""
        self.count += 1
        return str(self.count).rjust(length, "t")[-length:]

    def integer(self, low: int, high: int) -> int:
        """Return the lowest number."""
        del high
        return low


@dataclass
class KeptLog:
    """Keeps what was written."""

    lines: list[tuple[str, str, Mapping[str, Any]]] = field(default_factory=list)

    def write(self, level: str, message: str, data: Mapping[str, Any]) -> None:
        """Keep a line."""
        self.lines.append((level, message, data))


@dataclass
class KeptEvents:
    """Keeps what was emitted, as (event, payload), enqueued, and published.

    Attributes:
        jobs: (function, input) of each job that was made, by its name.
        keys: names of jobs by what makes them unique.
        sent: (webhook, event, owner, payload) of each message.
    """

    emitted: list[tuple[str, Any]] = field(default_factory=list)
    jobs: dict[str, tuple[str, Any]] = field(default_factory=dict)
    keys: dict[tuple[str, str], str] = field(default_factory=dict)
    sent: list[tuple[str, str, Any, Any]] = field(default_factory=list)
    published: list[tuple[str, Mapping[str, Any], str, Any]] = field(default_factory=list)

    async def emit(self, event: str, payload: Any, *, origin: str = "") -> None:
        """Keep an event."""
        del origin
        self.emitted.append((event, payload))

    async def enqueue(
        self, work: str, uid: str, payload: Any, *, delay_ms: int = 0, unique: str | None = None,
        origin: str = "",
    ) -> str:  # fmt: skip
        """Keep a job; where one has the same key, that is it."""
        del delay_ms, origin
        found = "" if unique is None else self.keys.get((work, unique), "")
        if found in self.jobs:
            return found
        if unique is not None:
            self.keys[work, unique] = uid
        self.jobs[uid] = work.removeprefix("functions/"), payload["input"]
        return uid

    async def require_room(self) -> None:
        """Do nothing: there is room."""

    async def send(self, webhook: str, message: str, given: Mapping[str, Any]) -> None:
        """Keep a message."""
        del message
        self.sent.append((webhook, given["event"], given.get("owner"), given["payload"]))

    async def cancel(self, uid: str) -> bool:
        """Forget a job."""
        return self.jobs.pop(uid, None) is not None

    async def status(self, uid: str) -> Mapping[str, Any] | None:
        """Return what is known of a job that has not begun."""
        waiting = {"state": "ready", "attempts": 0, "result": None, "error": None}
        return waiting if uid in self.jobs else None

    async def publish(
        self, realtime: str, params: Mapping[str, Any], event: str, payload: Any
    ) -> None:
        """Keep a message."""
        self.published.append((realtime, params, event, payload))

    def within(self, database: Database) -> KeptEvents:
        """Return what keeps the events of a transaction until it commits."""
        del database
        return _Uncommitted(jobs={**self.jobs}, keys={**self.keys}, outer=self)

    async def committed(self) -> None:
        """Do nothing: what was emitted is kept at once."""


@dataclass
class _Uncommitted(KeptEvents):
    outer: KeptEvents = field(default_factory=KeptEvents)

    async def committed(self) -> None:
        self.outer.emitted += self.emitted
        self.outer.sent += self.sent
        self.outer.jobs, self.outer.keys = self.jobs, self.keys


class KeptFolder:
    """The files of one run, in memory."""

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}

    async def append(self, name: str, data: bytes) -> None:
        """Keep it behind what a file holds."""
        self._files[name] = self._files.get(name, b"") + data

    async def write(self, name: str, data: bytes) -> None:
        """Keep it in the place of what is there."""
        self._files[name] = data

    async def size(self, name: str) -> int | None:
        """Return how many bytes are kept."""
        return len(self._files[name]) if name in self._files else None

    async def read(self, name: str, first: int, most: int) -> bytes:
        """Return a part of what is kept."""
        return self._files[name][first : first + most]

    def open(self, name: str) -> BinaryIO:
        """Return what is kept, to be read."""
        return BytesIO(self._files[name])

    def remove(self) -> None:
        """Forget it."""
        self._files.clear()


class KeptFiles:
    """Keeps the files of runs in memory."""

    def open(self) -> KeptFolder:
        """Return a folder for one run."""
        return KeptFolder()


@dataclass
class FakeHttp:
    """Answers by address, without the query; other addresses answer with what was asked."""

    answers: dict[str, HttpResponse | Failure] = field(default_factory=dict)
    sent: list[HttpRequest] = field(default_factory=list)
    mails: list[MailRequest] = field(default_factory=list)
    seconds: float = 0.0
    """How long an answer takes."""

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Return the answer that was set, or raise it."""
        self.sent.append(request)
        await asyncio.sleep(self.seconds)
        found = self.answers.get(request.url.partition("?")[0])
        if isinstance(found, Failure):
            raise found
        if found is not None:
            return found
        body = {"method": request.method, "url": request.url, "body": request.body.decode()}
        return HttpResponse(200, {"content-type": "application/json"}, msgspec.json.encode(body))

    async def send_mail(self, request: MailRequest) -> Sequence[str]:
        """Take every mail."""
        self.mails.append(request)
        return []


def fake_host(
    database: Database,
    addons: Addons | None = None,
    *,
    ids_from: int = 0,
    http: Http | None = None,
    files: Files | None = None,
    clock: StillClock | None = None,
) -> Host:
    """Return doors for a test: everything but the database stands still.

    Args:
        ids_from: generated ids are this number and on, clear of those that a test writes itself.
        http: other servers; without it each of them answers with what it was asked.
        files: where uploads go.
        clock: the time; without it 2026-01-02T03:04:05Z.
    """
    clock, events = clock or StillClock(), KeptEvents()
    return Host(
        clock, CountingRandom(ids_from), database, KeptLog(), addons,
        events=events, waits=JumpingWaits(clock), realtime=events,
        http=http or FakeHttp(), files=files, storage=KeptStorage(),
    )  # fmt: skip


# ---- The door `storage` of a test: files that are kept in memory


class KeptFile:
    """A file in memory."""

    def __init__(self, data: bytes) -> None:
        self._data, self.size_bytes = data, len(data)
        self.tag = sha256(data).hexdigest()[:24]

    async def read(self, first: int, most: int) -> bytes:
        """Return a part of it."""
        return self._data[first : first + most]


class KeptStorage:
    """Keeps files in memory, by their whole path."""

    def __init__(self) -> None:
        self.files: dict[tuple[str, ...], bytes] = {}

    async def save(self, base: Parts, path: Parts, content: bytes | RunFile) -> int:
        """Keep a file, see `Storage`."""
        whole = (*base, *path)
        folders = {one[:end] for one in self.files for end in range(1, len(one))}
        if whole in folders or any(whole[:end] in self.files for end in range(1, len(whole))):
            raise Thrown(400, "a part of the path is not a folder")
        if isinstance(content, RunFile):
            with content.open() as file:
                content = file.read()
        self.files[whole] = content
        return len(content)

    async def open(self, base: Parts, path: Parts) -> KeptFile | None:
        """Return a file, see `Storage`."""
        found = self.files.get((*base, *path))
        return None if found is None else KeptFile(found)

    async def delete(self, base: Parts, path: Parts) -> None:
        """Forget a file."""
        self.files.pop((*base, *path), None)

    async def list(
        self, base: Parts, path: Parts, *, recursive: bool, most: int
    ) -> Sequence[Listed]:
        """Return what is in a folder, see `Storage`."""
        start, found = (*base, *path), dict[str, Listed]()
        for whole, data in self.files.items():
            inner = whole[len(start) :]
            if whole[: len(start)] != start or not inner:
                continue
            for end in range(1, len(inner) + 1 if recursive else 2):
                name = "/".join((*path, *inner[:end]))
                is_folder = end < len(inner)
                found[name] = Listed(name, 0 if is_folder else len(data), is_folder)
        return [found[name] for name in sorted(found)][: most + 1]

    async def exists(self, base: Parts, path: Parts) -> bool:
        """Return whether there is a file."""
        return (*base, *path) in self.files
