"""Replace a database that is not served by a backup, and keep the old one."""

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
from bbops.database.files.files import PARTIAL, log_files, remove, with_logs, written_whole
from bbops.database.sqlite.gate import Gate
from bbops.runtime.realtime.rows import EPOCH
from bbops.runtime.work.values import RESTORED

_DAMAGED: Final = "use another backup; nothing has changed"


@dataclass(frozen=True, slots=True)
class Restored:
    """The restored contents, and the copy of the old database; None if there was none."""

    contents: Contents
    kept: Path | None
    held: int
    """Jobs that run again only after their release."""


def restore(path: Path, file: Path, keep: Path, *, tell: Tell | None = None) -> Restored:
    """Replace the database at `path` by the backup `file`.

    The caller keeps servers away. If the process is killed at any point, the old data or the new is
    left: the old data is one file without a log when the new one takes its name.

    Args:
        path: the database; it need not exist.
        file: stays unchanged; it may lie on a read-only disk.
        keep: gets the old database; its name begins with the name of `path`. The log is a second
            file if SQLite can no longer read it.
        tell: see `back_up`.

    Raises:
        DatabaseDamaged: `file` is not a database, or is damaged; nothing has changed.
        DatabaseError: it is not a bbops database, `path` is open elsewhere, or the disk is full.
    """
    gate = Gate(path)
    with closing(gate), gate, written_whole(path) as partial:
        for left in _left_behind(path, partial):
            remove(left)
        contents = _take_in(file, partial, tell)
        held = _hold_jobs(partial)
        kept = keep if _settle_and_keep(path, keep) else None
        for log in log_files(path):  # a log would be taken for the new file's own
            log.unlink(missing_ok=True)
    return Restored(contents, kept, held)


def _left_behind(path: Path, partial: Path) -> Iterator[Path]:
    """Yield the remains of killed restores of `path`; `keep` begins with its name."""
    return (left for left in path.parent.glob(f".{path.name}.*{PARTIAL}") if left != partial)


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
    """Prevent work that was due before the backup from running again; return the number of jobs.

    Tasks continue from now. Pending events without jobs reach no triggers.
    """
    with closing(sqlite3.connect(partial)) as database, database:
        tables = database.execute("SELECT name FROM sqlite_master WHERE name = '_bbops_ticks'")
        if not tables.fetchall():  # the backup is older than tasks
            return 0
        database.execute("DELETE FROM _bbops_ticks")
        database.execute("DELETE FROM _bbops_outbox")
        # numbers of changes are reused: readers with old numbers must start over
        database.execute("DELETE FROM _bbops_notes WHERE name = ?", (EPOCH,))
        held = database.execute(
            "UPDATE _bbops_jobs SET state = 'held', error = ?, owner = NULL WHERE state <> 'dead'",
            (RESTORED,),
        )
        return held.rowcount


def _settle_and_keep(path: Path, keep: Path) -> bool:
    """Copy the old database to `keep`, and return whether there was one."""
    try:
        if path.exists():
            _settle(path)
    except DatabaseDamaged:
        pass  # kept unchanged, with its log
    found = with_logs(path)
    # renamed, the data would be gone for a moment; linked, a server could write to it after a crash
    for file in found:
        with written_whole(keep.with_name(keep.name + file.name.removeprefix(path.name))) as copied:
            shutil.copyfile(file, copied)
    return bool(found)


def _settle(path: Path) -> None:
    """Move the whole log into the file, which must not be open elsewhere.

    Raises:
        DatabaseDamaged: SQLite cannot read the log.
        DatabaseError: another program has it open.
    """
    try:
        with closing(open_still(path)) as connection:  # it never writes to a damaged file
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
