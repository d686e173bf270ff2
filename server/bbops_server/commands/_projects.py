"""Which project of which state folder a command is about, and whether a server uses it."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

import click

from bbops.base.errors import ServerError
from bbops.database.schema.place import Place, PostgresPlace, read_url
from bbops_server.commands._settings import require_platform
from bbops_server.process.host.files import PLACE_FILE, record_holder

where_state = click.option(
    "--state", type=click.Path(path_type=Path), metavar="DIR",
    help="The server's state folder; by default .bbops/state of this folder.",
)  # fmt: skip
of_project = click.option(
    "--project", metavar="NAME", help="The project, if server.yaml lists several."
)


DATA: Final = "data.sqlite"
_OF_DEV = Path(".bbops/dev")
"""Where `bbops dev` keeps its state."""

_HERE = Path(".bbops/state")
_SIGNS = ("project.yaml", "server.yaml", ".bbops/state")


def state_of(state: Path | None) -> Path:
    """Return the state folder that is named, else that of this folder, which need not exist yet.

    Raises:
        ServerError: none is named or here, and a folder above is a server of several projects:
            what is set here it would never read.
    """
    if state is not None or _HERE.exists():
        return state or _HERE
    for folder in Path.cwd().parents:
        if (folder / "server.yaml").is_file() and (folder / _HERE).is_dir():
            raise ServerError(
                f"this folder has no '{_HERE}'; the server of '{folder}' keeps its state there",
                hint=f"run it there: cd '{folder}'; or give --state DIR",
            )
    return _HERE


def require_project(state: Path | None) -> None:
    """Refuse to create a state folder outside of a project.

    Raises:
        ServerError: no state folder is given, and this folder is not a project.
    """
    if state is None and not any(map(Path.exists, map(Path, _SIGNS))):
        raise ServerError(
            "this folder is not a project", hint="go to the project's folder, or give --state DIR"
        )


def data_of(project: str | None, state: Path | None) -> Path:
    """Return the file of a project's data, for commands that need a file.

    Raises:
        ServerError: there is none yet, it is in PostgreSQL, or there is no such project.
    """
    require_platform()
    folder = folder_of(state_of(state), project)
    if (folder / PLACE_FILE).exists():
        raise ServerError(
            "the data is in PostgreSQL, and this works on a file",
            hint="use PostgreSQL's own pg_dump, pg_restore and psql",
        )
    if not (folder / DATA).exists():
        raise ServerError(f"there is no data in '{folder}'", hint=_where_data_is(state))
    return folder / DATA


def _where_data_is(state: Path | None) -> str:
    """Return the hint for a state folder without data: `bbops dev` keeps its own beside it."""
    if state is None and any((_OF_DEV / name).exists() for name in (DATA, PLACE_FILE)):
        return f"'bbops serve' makes it; add '--state {_OF_DEV}' for the data of 'bbops dev'"
    return "'bbops serve' makes it; go to the project's folder, or give --state DIR"


def place_of(project: str | None, state: Path | None) -> Place:
    """Return the place of a project's data: a file, or a schema of the database of DATABASE_URL.

    Raises:
        ServerError: there is none yet, no such project, or no DATABASE_URL.
        DatabaseError: DATABASE_URL is not an address of PostgreSQL.
    """
    folder = folder_of(state_of(state), project)
    return read_note(folder / PLACE_FILE, "data is") or data_of(project, state)


def read_note(note: Path, what: str) -> PostgresPlace | None:
    """Return the schema of DATABASE_URL that the server has noted; None without a note.

    Args:
        note: the file of the note.
        what: its subject in messages.

    Raises:
        ServerError: there is no DATABASE_URL.
        DatabaseError: DATABASE_URL is not an address of PostgreSQL.
    """
    try:
        schema = note.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    url = os.environ.get("DATABASE_URL")
    if not url:
        raise ServerError(
            f"the {what} in schema '{schema}' of PostgreSQL",
            hint="set DATABASE_URL as it is for the server",
        )

    return read_url(url, schema)


def folder_of(state: Path, project: str | None) -> Path:
    """Return the folder of a project in a state folder: with one project, that folder itself.

    Raises:
        ServerError: it holds several projects and none is named, or a name it does not hold.
    """
    here = state / "projects"
    served = [one.name for one in here.iterdir()] if here.is_dir() else []
    names = sorted({*served, *declared()})
    listed = ", ".join(names) or "no projects yet: 'bbops serve' makes them"
    if project is None and names:
        raise ServerError(
            f"'{state}' holds several projects", hint=f"choose one with --project: {listed}"
        )
    if project is not None and project not in names:
        raise ServerError(f"'{state}' holds no project '{project}'", hint=f"it holds {listed}")
    return here / project if project else state


def declared() -> tuple[str, ...]:
    """Return the projects that a server.yaml of this folder names; they may not be served yet."""
    if not Path("server.yaml").is_file():
        return ()
    from bbops_server.settings.server_file.load import read_file  # noqa: PLC0415 - after --help

    file = read_file(Path("server.yaml")).file
    return tuple(file.projects) if file else ()


def name_of(folder: Path) -> str:
    """Return the name of the project that went live last from its folder, else `data`."""
    try:
        return str(json.loads((folder / "publication.json").read_bytes())["project"])
    except (OSError, ValueError, KeyError, TypeError):
        return "data"


def hold_state(state: Path, *, cure: str) -> int:
    """Keep every other server and restore away from this folder, as long as the process lives.

    Args:
        state: must exist.
        cure: what to do when another process has it; `{process}` stands for its number.

    Returns:
        The descriptor that holds it.

    Raises:
        ServerError: another one has it.
    """
    lock = lock_state(state)
    if lock is None:
        raise ServerError(
            f"another server is using the state folder '{state}'",
            hint=cure.format(process=read_holder(state) or "?"),
        )
    return lock


def lock_state(state: Path) -> int | None:
    """Return a descriptor that locks the folder while it is open; None where another one does."""
    import fcntl  # noqa: PLC0415 - Windows has none, and shows --help anyway

    lock = os.open(state / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    record_holder(lock)
    return lock


def read_holder(state: Path) -> int:
    """Return the process that has locked the folder; 0 where it has not said so."""
    with suppress(OSError, ValueError):
        return int((state / "lock").read_text())
    return 0
