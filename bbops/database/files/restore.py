"""Put a backup in the place of a database that nobody serves, and keep what was there."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bbops.base.errors import DatabaseDamaged, DatabaseError
from bbops.database.files.backup import DAMAGE, Contents, Tell, copy, open_still
from bbops.database.files.files import PARTIAL, beside, remove, with_logs, written_whole
from bbops.database.sqlite.gate import Gate
from bbops.runtime.realtime.rows import EPOCH
from bbops.runtime.work.values import RESTORED

_DAMAGED: Final = "use another backup; nothing has changed"


@dataclass(frozen=True, slots=True)
class Restored:
    """What is there now, and where what was there is kept; None when nothing was."""

    contents: Contents
    kept: Path | None
    held: int
    """Jobs that run again only when they are released."""


def restore(path: Path, file: Path, keep: Path, *, tell: Tell | None = None) -> Restored:
    """Make the database at `path` what the backup `file` holds.

    The caller keeps servers away. Killed at any point, it leaves the old data or the new: the old
    is one file without a log when the new one takes its name.

    Args:
        path: need not exist.
        file: stays as it is; it may lie on a disk that cannot be written.
        keep: gets what was at `path`; its name begins with that. With its log as a second file
            where SQLite cannot read it any more.
        tell: see `back_up`.

    Raises:
        DatabaseDamaged: `file` is no database, or not a whole one; nothing has changed.
        DatabaseError: it is none of bbops, `path` is open in another program, or the disk is full.
    """
    gate = Gate(path)
    with closing(gate), gate, written_whole(path) as partial:
        for left in _left_behind(path, partial):
            remove(left)
        contents = _take_in(file, partial, tell)
        held = _hold_jobs(partial)
        kept = keep if _settle_and_keep(path, keep) else None
        for one in beside(path):  # a log would be taken for that of the new file
            one.unlink(missing_ok=True)
    return Restored(contents, kept, held)


def _left_behind(path: Path, partial: Path) -> Iterator[Path]:
    """Yield what restores of `path` have left that were killed; `keep` begins with its name."""
    return (one for one in path.parent.glob(f".{path.name}.*{PARTIAL}") if one != partial)


def _take_in(file: Path, partial: Path, tell: Tell | None) -> Contents:
    try:
        with closing(open_still(file)) as source:
            contents = copy(source, partial, file, hint=_DAMAGED, tell=tell)
    except sqlite3.Error as error:
        raise DatabaseError(f"cannot read '{file}': {error}") from None
    if not contents.spec_hash:
        raise DatabaseError(
            f"'{file}' contains no project data", hint="use a file made by 'bbops db backup'"
        )
    return contents


def _hold_jobs(partial: Path) -> int:
    """Let nothing happen again that was due when the backup was made; return how many jobs wait.

    Tasks go on from now. Events that had not reached their triggers yet reach none.
    """
    with closing(sqlite3.connect(partial)) as database, database:
        tables = database.execute("SELECT name FROM sqlite_master WHERE name = '_bbops_ticks'")
        if not tables.fetchall():  # it is older than tasks
            return 0
        database.execute("DELETE FROM _bbops_ticks")
        database.execute("DELETE FROM _bbops_outbox")
        # numbers of changes come again: who has some from before must read anew
        database.execute("DELETE FROM _bbops_notes WHERE name = ?", (EPOCH,))
        held = database.execute(
            "UPDATE _bbops_jobs SET state = 'held', error = ?, owner = NULL WHERE state <> 'dead'",
            (RESTORED,),
        )
        return held.rowcount


def _settle_and_keep(path: Path, keep: Path) -> bool:
    """Copy what is there to `keep`, and return whether there was something."""
    try:
        if path.exists():
            _settle(path)
    except DatabaseDamaged:
        pass  # it is kept as it is, with its log
    found = with_logs(path)
    # renamed, there would be no data for a moment; linked, a server could write to it, if we die
    for one in found:
        with written_whole(keep.with_name(keep.name + one.name.removeprefix(path.name))) as copied:
            shutil.copyfile(one, copied)
    return bool(found)


def _settle(path: Path) -> None:
    """Move all of the log into the file; nobody else can have it open then.

    Raises:
        DatabaseDamaged: SQLite cannot.
        DatabaseError: another program has it open.
    """
    try:
        with closing(open_still(path)) as connection:  # which would not write to what is damaged
            connection.execute("PRAGMA schema_version").close()
        with closing(sqlite3.connect(path, timeout=1, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE").fetchall()
    except sqlite3.DatabaseError as error:
        code = error.sqlite_errorcode & 0xFF
        if code in DAMAGE:
            raise DatabaseDamaged(f"'{path}' is damaged: {error}") from None
        if code == sqlite3.SQLITE_BUSY:
            raise _in_use(path) from None
        raise DatabaseError(f"cannot close '{path}': {error}") from None


def _in_use(path: Path) -> DatabaseError:
    return DatabaseError(
        f"another program has '{path}' open",
        hint="close it; the processes of a killed server exit within 10 s",
    )
