"""The list with Litestar and SQLAlchemy's ORM: typed models, a session for each request."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from litestar import Litestar, get
from msgspec import Struct
from sqlalchemy import ForeignKey, event, func, select
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, joinedload, mapped_column, relationship


class Base(DeclarativeBase):
    """Holds the tables."""


class Author(Base):
    """Who writes notes."""

    __tablename__ = "authors"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]


class Note(Base):
    """What an author writes."""

    __tablename__ = "notes"
    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str]
    author_id: Mapped[int] = mapped_column(ForeignKey("authors.id"))
    created_at: Mapped[datetime]
    author: Mapped[Author] = relationship()


class AuthorShown(Struct):
    """An author in an answer."""

    id: int
    name: str


class NoteShown(Struct):
    """A note in an answer."""

    id: int
    title: str
    created_at: datetime
    author: AuthorShown


class Page(Struct):
    """Some notes, and how many there are."""

    rows: list[NoteShown]
    total: int


_NEWEST = select(Note).options(joinedload(Note.author, innerjoin=True)).order_by(Note.id.desc())
_COUNT = select(func.count()).select_from(Note)


def make_app(database: Path) -> Litestar:
    """Return the application."""
    # each connection has a thread; the CPU time of one that comes and goes would not be counted
    engine = create_async_engine(f"sqlite+aiosqlite:///{database}", max_overflow=0)
    event.listen(engine.sync_engine, "connect", _set_up)
    sessions = async_sessionmaker(engine, expire_on_commit=False)

    @asynccontextmanager
    async def closing(_: Litestar) -> AsyncIterator[None]:
        yield
        await engine.dispose()

    @get("/api/notes")
    async def notes() -> Page:
        async with sessions() as session:
            found = await session.scalars(_NEWEST.limit(20))
            total = await session.scalar(_COUNT)
            return Page([_shown(note) for note in found], total or 0)

    return Litestar([notes], lifespan=[closing], openapi_config=None, logging_config=None)


def _shown(note: Note) -> NoteShown:
    author = AuthorShown(note.author.id, note.author.name)
    return NoteShown(note.id, note.title, note.created_at, author)


def _set_up(connection: Any, _: Any) -> None:
    for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}").close()
