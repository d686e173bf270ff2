"""The live release: linked beside the old one, swapped in one assignment, drained."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from weakref import WeakSet

import msgspec

from bbops.base.errors import DatabaseError, ServerError
from bbops.base.host import Clock, Host, Http, Log, OpenHttp, Random
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.database.open import Opened, open_database, work_dialect
from bbops.database.schema.place import Place, read_place
from bbops.database.sqlite.limits import limit_size
from bbops.runtime.http.in_flight import ActiveRequests
from bbops.runtime.http.rate_limits import SharedCounters
from bbops.runtime.http.responses import Record
from bbops.runtime.linking.lasting import Lasting
from bbops.runtime.linking.release import Release, link_in_slices
from bbops.runtime.realtime.linking import link_topics
from bbops.runtime.values.failures import Failure
from bbops.runtime.work.engine import now_ms
from bbops.runtime.work.events import EventOutbox, QueueLimit
from bbops.runtime.work.jobs import HAS_JOBS
from bbops_server.data_plane.live.artifact import fill_env, read_artifact
from bbops_server.data_plane.live.history import History, RestingHistory
from bbops_server.data_plane.pages.frontend import Contents, Frontend, read_manifest
from bbops_server.data_plane.pages.start_page import StartPage
from bbops_server.data_plane.realtime.fanout.end import End, LocalEnd
from bbops_server.data_plane.realtime.live_topics import LiveTopics
from bbops_server.process.host.run_folders import RunFolders
from bbops_server.process.messages.projects import (
    FileStorage,
    LinkRelease,
    LinkReleaseAnswer,
    StartPageTexts,
)
from bbops_server.process.printing.door import SocketPrinter
from bbops_server.process.sockets.wire import send_whole
from bbops_server.process.storage.storages import Storages
from bbops_server.settings import Durability

DRAIN_SECONDS = 30.0
"""A release with a request older than this is left to the garbage collector."""

NOTE_SECONDS = 60.0
"""Uses of API keys are written down this often."""

_LAST_NOTE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Quota:
    """What a draft may keep; of uploads, those of all runs under way."""

    database_bytes: int
    uploads_bytes: int
    history_bytes: int


class Live:
    """One project in a data-plane process. Its databases stay open across releases.

    With a `quota` it is a draft's, alone in its process: no timer runs, so its process sweeps.
    """

    def __init__(
        self, *, clock: Clock, random: Random, log: Log, counters: SharedCounters | None = None,
        http: Http | None = None, streams: OpenHttp | None = None, quota: Quota | None = None,
        ring: Callable[[], None] | None = None, answers: bool = True, end: End | None = None,
    ) -> None:  # fmt: skip
        """Make one without a release.

        Args:
            http: other servers.
            streams: those whose answers are read as they come.
            ring: wakes what runs jobs.
            answers: whether requests come here.
            end: the way of messages to other processes; without one this process is alone.
        """
        if quota is not None:
            limit_size(quota.database_bytes)
        self._quota, self._answers = quota, answers
        self.release: Release | None = None
        self.project = ""
        self.refusal: bytes | None = None
        self.held: asyncio.Event | None = None
        self._doors, self._http, self.ring = (clock, random, log), http, ring
        self._streams = streams
        self._linked: tuple[Release, str] | None = None
        self.realtime = LiveTopics(end or LocalEnd(), self.wait)
        self._databases: dict[tuple[Place, Durability], Opened] = {}
        self._lasting, self._contents = Lasting(counters), Contents()
        self._sweeping: asyncio.Task[None] | None = None
        self._noting: asyncio.Task[None] | None = None
        self._histories: dict[Path, History] = {}
        self._files: dict[Path, RunFolders] = {}
        self._storages = Storages()
        self._drains: set[asyncio.Task[None]] = set()
        self._old: WeakSet[Release] = WeakSet()
        self._one_at_a_time = asyncio.Lock()

    async def link(
        self,
        artifact: Path,
        *,
        name: str,
        env: Mapping[str, str | None],
        database: Place,
        history: Path | None = None,
        durability: Durability = "normal",
        detailed: bool = False,
        frontend: Path | None = None,
        url: str = "",
        start: StartPageTexts | None = None,
        kept: FileStorage | None = None,
        printer: str = "",
    ) -> None:
        """Make a release of an artifact and keep it ready for `swap`, in place of one kept before.

        Raises:
            ServerError: the artifact is gone or damaged, or an env value does not fit.
            DatabaseError: the database cannot be opened.
        """
        if self._sweeping is None and self._quota is None and self._answers:
            self._sweeping = asyncio.create_task(self._lasting.active_requests.keep_sweeping())
            self._noting = asyncio.create_task(self._keep_noting())
        async with self._one_at_a_time:
            data, project = await asyncio.to_thread(read_artifact, artifact)
            clock, random, log = self._doors
            self._lasting.scope = str(database)  # two projects may name a channel alike
            opened = await self._open(database, durability)
            files = await self._keep_files(history.parent) if history else None
            events = None
            if self.ring is not None:
                dialect, room = work_dialect(opened), QueueLimit(opened, now_ms)
                events = EventOutbox(opened, dialect, now_ms, self.ring, limit=room)
            self.realtime.place = database
            realtime = self.realtime.publisher()
            storage = kept and self._storages.find(kept)
            prints = SocketPrinter(printer) if printer else None
            host = Host(
                clock, random, opened, log, events=events, realtime=realtime, http=self._http,
                streams=self._streams, files=files, storage=storage, printer=prints,
                sends=self._quota is None,
            )  # fmt: skip
            try:
                remember = self._remember(history) if history else None
                release = await link_in_slices(
                    data, name=name, host=host, env=env, detailed=detailed,
                    lasting=self._lasting, history=remember, send_whole=send_whole, url=url,
                )  # fmt: skip
            except Failure as failure:
                raise ServerError(failure.message) from None
            self.realtime.link(data, release, realtime)
            await release.prepare()
            if frontend is not None:
                release.beside = await asyncio.to_thread(self._open_frontend, frontend, name, url)
            if start is not None:
                release.beside = StartPage(start, release.routes, release.beside)
            if events is not None:
                release.has_work = release.has_work or await _has_jobs(opened)
            self._drop_linked()
            self._linked = release, project

    async def link_old(self, artifact: bytes) -> Release:
        """Return a release that was live before, with the values and databases of the live one.

        Raises:
            ServerError: nothing is live, or a value that it requires is not there any more.
            Failure: another version built it.
        """
        if self.release is None:
            raise ServerError("nothing is live")
        live = self.release
        door = self.realtime.publisher()
        release = await link_in_slices(
            artifact, name=live.name, host=replace(live.answering.host, realtime=door),
            lasting=self._lasting, env=fill_env(artifact, live.env),
        )  # fmt: skip
        door.topics = link_topics(artifact, release)
        return release

    def _open_frontend(self, path: Path, release: str, url: str) -> Frontend:
        """Raises: ServerError: it is gone or damaged."""
        try:
            manifest = read_manifest(path)
        except (OSError, msgspec.MsgspecError):
            raise ServerError(
                f"frontend '{path}' is gone or damaged", hint="publish the commit again"
            ) from None
        return Frontend(manifest, path.parent / "files", self._contents, release, url)

    @property
    def linked(self) -> Release | None:
        """The release that waits for `swap`."""
        return self._linked[0] if self._linked else None

    @property
    def needs_center(self) -> bool:
        """Whether what is linked has topics that need the work process.

        It numbers their messages, or takes them from one data process to others, and to other
        servers.
        """
        topics = self.realtime
        has_others = self._lasting.is_shared or topics.is_shared
        return topics.need_center or (has_others and topics.has_topics)

    def swap(self, name: str) -> None:
        """Let the linked release answer from now on; requests under way end where they began.

        Raises:
            ServerError: no release of that name is linked.
        """
        if self._linked is None or self._linked[0].name != name:
            raise ServerError(f"release '{name}' is not linked")
        old = self.release
        self.release, self.project = self._linked
        self._linked = self.refusal = None
        if self._answers:
            self.realtime.swap()
        self.go_on()
        if old is not None:
            self._old.add(old)
            task = asyncio.create_task(_drain(old))
            self._drains.add(task)
            task.add_done_callback(self._drains.discard)

    async def hold(self, *, seconds: float, drain_seconds: float) -> None:
        """Let new requests wait, and return once those under way have ended, or are late.

        What waits goes on with the next `swap` or `go_on`, or after so many seconds by itself: then
        the release that was live goes on.
        """
        loop = asyncio.get_running_loop()
        held = self.held = self.held or asyncio.Event()
        loop.call_later(seconds, self.go_on, held)
        await self.active_requests.wait(lambda: not self.in_flight, drain_seconds)

    def go_on(self, held: asyncio.Event | None = None) -> None:
        """Let what waits go on, if it waits for what was held then."""
        if self.held is not None and held in {None, self.held}:
            self.held.set()
            self.held = None

    def give_up(self) -> None:
        """Answer what waits that there is no release: nobody is left to say which one it is for."""
        if self.held is not None:
            self.release = None
            self.go_on()

    async def wait(self) -> None:
        """Return once requests may go on."""
        if self.held is not None:
            await self.held.wait()

    async def drain(self) -> None:
        """Return once the releases before have answered their last request, or are late."""
        if self._drains:
            await asyncio.wait(self._drains)

    @property
    def active_requests(self) -> ActiveRequests:
        """Every request under way."""
        return self._lasting.active_requests

    @property
    def refused_deliveries(self) -> Mapping[str, int]:
        """Received webhooks with a wrong or late signature, by trigger."""
        return self._lasting.refused_deliveries

    @property
    def in_flight(self) -> int:
        """How many requests are under way, of this release and those before."""
        return sum(one.in_flight for one in (*self._old, *filter(None, [self.release])))

    def refuse(self, diagnostics: Sequence[JsonDiagnostic]) -> None:
        """Answer every project route with these diagnostics until the next swap; for `dev`."""
        self.refusal = format_mistakes(diagnostics)

    async def retire(self) -> None:
        """Close once every request under way has ended: no new one comes here."""
        self.realtime.close()
        releases = [*self._old, *filter(None, [self.release])]
        await self.active_requests.wait(lambda: not any(one.is_answering for one in releases), None)
        self._drop_linked()
        await self.close()
        for release in releases:
            release.close()

    async def close(self) -> None:
        """Close the databases; nothing is answered after this."""
        self.realtime.close()
        for task in (*self._drains, *filter(None, [self._sweeping, self._noting])):
            task.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_NOTE_SECONDS):
                await self.note_uses()
        await asyncio.gather(*(database.close() for database in self._databases.values()))
        for history in self._histories.values():
            await asyncio.to_thread(history.close)
        for files in self._files.values():
            await asyncio.to_thread(files.close)
        await self._storages.close()

    async def note_uses(self) -> None:
        """Write down when API keys were used last here; see `KeyUses`."""
        if self.release is not None:
            await self._lasting.key_uses.write_down(self.release.answering.host.database)

    async def _keep_noting(self) -> None:
        while True:
            await asyncio.sleep(NOTE_SECONDS)
            await self.note_uses()

    async def _open(self, place: Place, durability: Durability) -> Opened:
        key = place, durability
        if key not in self._databases:
            self._databases[key] = await open_database(place, durability=durability)
        return self._databases[key]

    def _remember(self, file: Path) -> Record:
        """Return what takes the answers of a project whose history is this file."""
        if file not in self._histories:
            quota = self._quota
            made = RestingHistory(file, quota.history_bytes) if quota else History(file)
            self._histories[file] = made
        return self._histories[file].remember

    async def _keep_files(self, state: Path) -> RunFolders:
        """Return where runs keep files; what a process that died has left there is removed."""
        if state not in self._files:
            most = self._quota.uploads_bytes if self._quota else None
            self._files[state] = RunFolders(state / "runs", most)
            await asyncio.to_thread(self._files[state].sweep)
        return self._files[state]

    def _drop_linked(self) -> None:
        if self._linked is not None:
            self._linked[0].close()
            self._linked = None


async def _has_jobs(database: Opened) -> bool:
    """Return whether a release before has left jobs; a new database has no tables for them yet."""
    try:
        await database.prepare(HAS_JOBS)
    except DatabaseError:
        return False
    return bool(await database.read(HAS_JOBS))


async def _drain(release: Release) -> None:
    if await release.active_requests.wait(lambda: not release.in_flight, DRAIN_SECONDS):
        release.close()


_INVALID: Final = JsonDiagnostic(
    "error", "invalid", "project.yaml", 1, 1, "the project is not valid"
)


def format_mistakes(diagnostics: Sequence[JsonDiagnostic]) -> bytes:
    """Return what is answered instead of a project that has these mistakes."""
    errors = [one for one in diagnostics if one.severity == "error"]
    message = next(iter(errors or diagnostics), _INVALID).line_of_text()
    error = {"code": "projectInvalid", "message": message, "diagnostics": list(diagnostics)}
    return msgspec.json.encode({"error": error})


async def link(live: Live, request: LinkRelease) -> LinkReleaseAnswer:
    """Link a release beside the one that is live. Raises as `Live.link`."""
    await live.link(
        Path(request.artifact),
        name=request.name,
        env=request.env,
        database=read_place(request.database),
        durability=request.durability,
        detailed=request.detailed,
        history=Path(request.history) if request.history else None,
        frontend=Path(request.frontend) if request.frontend else None,
        url=request.url,
        start=request.start,
        kept=request.files,
        printer=request.printer,
    )
    return LinkReleaseAnswer(
        live.linked is not None and (live.linked.has_work or live.needs_center)
    )
