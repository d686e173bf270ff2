"""Doors that note whether a run may have changed anything that lasts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bbops.base.doors import Listed, OpenFile, Parts, Pieces, RunFile, Storage
from bbops.base.host import (
    Addons,
    Database,
    Events,
    Host,
    Http,
    HttpRequest,
    HttpResponse,
    MailRequest,
    Parameters,
    Realtime,
)
from bbops.runtime.values.failures import DatabaseFailure, Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

_READS = frozenset({"GET", "HEAD"})


@dataclass(slots=True)
class Touched:
    """Whether something may have been changed: once it is so, it stays so."""

    is_so: bool = False

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Note a write, unless the database says that it did not happen."""
        before, self.is_so = self.is_so, True
        try:
            yield
        except (DatabaseFailure, Unavailable):
            self.is_so = before
            raise


def noting(host: Host) -> tuple[Host, Touched]:
    """Return the same doors, and what they note."""
    touched = Touched()
    return replace(
        host,
        database=_NotingDatabase(host.database, touched),
        http=host.http and _NotingHttp(host.http, touched),
        events=host.events and _NotingEvents(host.events, touched),
        realtime=host.realtime and _NotingRealtime(host.realtime, touched),
        addons=host.addons and _NotingAddons(host.addons, touched),
        storage=host.storage and _NotingStorage(host.storage, touched),
    ), touched  # fmt: skip


@dataclass(slots=True)
class _NotingDatabase:
    door: Database
    touched: Touched

    async def read(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return await self.door.read(sql, parameters)

    async def write(
        self, sql: str, parameters: Sequence[object] = (), *, at_most: int | None = None
    ) -> list[tuple[Any, ...]]:
        with self.touched.writing():
            return await self.door.write(sql, parameters, at_most=at_most)

    async def change(self, sql: str, parameters: Sequence[object] = ()) -> int:
        with self.touched.writing():
            return await self.door.change(sql, parameters)

    async def write_all(
        self, statements: Sequence[tuple[str, Parameters]]
    ) -> list[list[tuple[Any, ...]]]:
        with self.touched.writing():
            return await self.door.write_all(statements)

    async def rows(
        self, sql: str, parameters: Sequence[object] = (), *, writes: bool = False
    ) -> list[dict[str, Any]]:
        if not writes:
            return await self.door.rows(sql, parameters)
        with self.touched.writing():
            return await self.door.rows(sql, parameters, writes=True)

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[Database]:
        before = self.touched.is_so
        async with self.door.transaction() as inner:
            try:
                yield inner
            except BaseException:  # rolled back
                self.touched.is_so = before
                raise
            self.touched.is_so = True

    def transaction(self) -> AbstractAsyncContextManager[Database]:
        return self._transaction()


@dataclass(slots=True)
class _NotingHttp:
    door: Http
    touched: Touched

    async def send(self, request: HttpRequest) -> HttpResponse:
        if request.method not in _READS:
            self.touched.is_so = True
        return await self.door.send(request)

    async def send_mail(self, request: MailRequest) -> Sequence[str]:
        self.touched.is_so = True
        return await self.door.send_mail(request)


@dataclass(slots=True)
class _NotingEvents:
    door: Events
    touched: Touched

    async def emit(self, event: str, payload: Any, *, origin: str = "") -> None:
        self.touched.is_so = True
        await self.door.emit(event, payload, origin=origin)

    async def enqueue(
        self, work: str, uid: str, payload: Any, *, delay_ms: int = 0, unique: str | None = None,
        origin: str = "",
    ) -> str:  # fmt: skip
        self.touched.is_so = True
        return await self.door.enqueue(
            work, uid, payload, delay_ms=delay_ms, unique=unique, origin=origin
        )

    async def require_room(self) -> None:
        await self.door.require_room()

    async def send(self, webhook: str, message: str, given: Mapping[str, Any]) -> None:
        self.touched.is_so = True
        await self.door.send(webhook, message, given)

    async def cancel(self, uid: str) -> bool:
        self.touched.is_so = True
        return await self.door.cancel(uid)

    async def status(self, uid: str) -> Mapping[str, Any] | None:
        return await self.door.status(uid)

    def within(self, database: Database) -> Events:
        return self.door.within(database)

    async def committed(self) -> None:
        await self.door.committed()


@dataclass(slots=True)
class _NotingRealtime:
    door: Realtime
    touched: Touched

    async def publish(
        self, realtime: str, params: Mapping[str, Any], event: str, payload: Any
    ) -> None:
        self.touched.is_so = True
        await self.door.publish(realtime, params, event, payload)


@dataclass(slots=True)
class _NotingAddons:
    door: Addons
    touched: Touched

    async def call(self, step: str, parameters: Mapping[str, Any]) -> Any:
        self.touched.is_so = True
        return await self.door.call(step, parameters)

    async def stream(self, step: str, parameters: Mapping[str, Any]) -> Pieces:
        self.touched.is_so = True
        return await self.door.stream(step, parameters)

    def takes(self, step: str) -> bool:
        return self.door.takes(step)


@dataclass(slots=True)
class _NotingStorage:
    door: Storage
    touched: Touched

    async def save(self, base: Parts, path: Parts, content: bytes | RunFile) -> int:
        self.touched.is_so = True
        return await self.door.save(base, path, content)

    async def open(self, base: Parts, path: Parts) -> OpenFile | None:
        return await self.door.open(base, path)

    async def delete(self, base: Parts, path: Parts) -> None:
        self.touched.is_so = True
        await self.door.delete(base, path)

    async def list(
        self, base: Parts, path: Parts, *, recursive: bool, most: int
    ) -> Sequence[Listed]:
        return await self.door.list(base, path, recursive=recursive, most=most)

    async def exists(self, base: Parts, path: Parts) -> bool:
        return await self.door.exists(base, path)
