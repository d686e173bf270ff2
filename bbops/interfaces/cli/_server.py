"""The options of commands that call a server, and a client with the user's stored token."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from bbops.base.addresses import is_here, split
from bbops.base.disk import replace_file
from bbops.base.errors import GitError, ServerError
from bbops.base.render import printable

if TYPE_CHECKING:
    from bbops.interfaces.answers import ProjectLine
    from bbops.interfaces.client import Remote
    from bbops.source.git.store import Store


# ---- Tokens of the servers at which this user is signed in, and the key of a local server
# They are stored in the user's own settings folder, readable only by the user, never in a project.

LOCAL_STATES = ("state", "dev")
"""The state folders of `bbops serve` and `bbops dev`, inside `.bbops`."""


# ---- The check that the server at the usual local address serves the project of the current
# folder

_MARKS: Final = ("project.yaml", "server.yaml", *(f".bbops/{name}" for name in LOCAL_STATES))
"""The files and folders that make a folder one of a project or of a server."""


def check_default(context: click.Context, option: click.Parameter, url: str) -> str:
    """Return the URL of `--server`; check it if it was neither given nor found in the folder.

    Raises:
        ServerError: as `require_own_server`.
    """
    source = context.get_parameter_source(option.name or "")
    if source is click.core.ParameterSource.DEFAULT and not context.resilient_parsing:
        require_own_server(url)
    return url


T = TypeVar("T")

DEFAULT_SERVER = "http://127.0.0.1:8001"


def default_server() -> str:
    """Return the server that runs for the current folder, else the usual local address."""
    return find_server() or DEFAULT_SERVER


def require_default_server() -> str:
    """Return that server. Raises: ServerError: it serves other projects than this folder's."""
    require_own_server(url := default_server())
    return url


of_server = click.option(
    "--server", metavar="URL", envvar="BBOPS_SERVER", default=default_server,
    callback=check_default, show_envvar=True,
    show_default=f"the one of this folder, or {DEFAULT_SERVER}",
    help="The control plane of the server.",
)  # fmt: skip

of_project = click.option(
    "--project", metavar="NAME", help="The project, if the server has several."
)

of_draft = click.option(
    "--draft", metavar="BRANCH", help="The draft of this branch instead of the live release."
)

as_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


def named_project(function: Callable[..., T]) -> Callable[..., T]:
    """Make a command accept its project as NAME or as --project."""

    @click.argument("name", required=False)
    @of_project
    @wraps(function)
    def wrapped(*args: Any, name: str | None, project: str | None, **more: Any) -> T:
        if name and project and name != project:
            raise click.UsageError(f"two projects are given: '{name}' and --project '{project}'")
        return function(*args, name=name or project, **more)

    return wrapped


def open_remote(url: str) -> Remote:
    """Return a client for a server.

    Raises:
        ServerError: the URL is not valid, or a token would be sent without https.
    """
    from bbops.interfaces.client import Remote  # noqa: PLC0415 - httpx: 100 ms

    return Remote(url, find_token(url.rstrip("/")))


LOCAL_KEY = "control.json"
"""The file in a state folder in which a running server stores the key of the local user."""

_MAX_BYTES = 1 << 20


def find_token(url: str) -> str:
    """Return the token for a server: BBOPS_TOKEN, a stored token, a local key, or an empty text."""
    if given := os.environ.get("BBOPS_TOKEN", "").strip():
        return given
    stored = read_all().get(url, {})
    return str(stored.get("token", "")) or next(_local_keys(url), "")


def find_server() -> str:
    """Return the address of the server that runs for this folder or a parent; empty without one.

    The address must be on this machine: the folder may be a clone from another user, which must not
    choose the server that gets this user's token.
    """
    state = find_running()
    return str(_read(state / LOCAL_KEY).get("url", "")) if state else ""


def find_running(states: Sequence[str] = LOCAL_STATES) -> Path | None:
    """Return the state folder of the server that runs for this folder or a parent."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        for name in states:
            state = folder / ".bbops" / name
            url = _read(state / LOCAL_KEY).get("url")
            if isinstance(url, str) and split(url) is not None and is_here(url):
                return state
    return None


def read_all() -> dict[str, dict[str, str]]:
    """Return {"token", "email"} by the address of each stored server."""
    try:
        content = _read(_path())
    except RuntimeError:
        return {}
    servers = content.get("servers", {})
    return servers if isinstance(servers, dict) else {}


def store(url: str, token: str, email: str) -> Path:
    """Store a token, replacing an older one, and return the file.

    Raises:
        ServerError: the file cannot be written.
    """
    return _write({**read_all(), url: {"token": token, "email": email}})


def forget(url: str) -> bool:
    """Delete the token of a server; return False if none is stored. Raises as `store`."""
    servers = read_all()
    if servers.pop(url, None) is None:
        return False
    _write(servers)
    return True


def _write(servers: Mapping[str, Any]) -> Path:
    try:
        path = _path()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(path, json.dumps({"servers": servers}, indent=2).encode())
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or "there is no home folder"
        raise ServerError(
            f"the token cannot be saved: {reason.lower()}",
            hint="set the environment variable BBOPS_TOKEN instead",
        ) from None
    return path


def _local_keys(url: str) -> Iterator[str]:
    """Yield the keys of local servers at an address, from this folder and its parents."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        for name in LOCAL_STATES:
            key = _read(folder / ".bbops" / name / LOCAL_KEY)
            if key.get("url") == url and isinstance(key.get("token"), str):
                yield key["token"]


def _read(path: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError), path.open("rb") as file:
        content = json.loads(file.read(_MAX_BYTES))
        if isinstance(content, dict):
            return content
    return {}


def _path() -> Path:
    """Return the file with the tokens. Raises RuntimeError: there is no home folder."""
    base = os.environ.get("APPDATA" if os.name == "nt" else "XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "bbops" / "credentials.json"


def require_own_server(url: str) -> None:
    """Check that a server at the usual address serves the project of the current folder.

    Its server is recognized by a remote of the repository at its address, or by a live commit
    that the repository has. A folder without a project has no server of its own, so any is right;
    a server that does not answer is left to the command, which reports the reason.

    Raises:
        ServerError: the server serves other projects.
    """
    folder = None if find_running() else find_project_folder(Path.cwd())
    if folder is None:
        return
    lines = _list_projects(url)
    if lines is None or _is_served(folder, url, lines):
        return
    names = ", ".join(printable(line.name) for line in lines) or "nothing"
    raise ServerError(
        f"no server runs for the project in '{folder}'; the server at '{url}' serves {names}",
        hint="start one here with 'bbops dev' or 'bbops serve'; if that server is the right one,"
        f" add --server {url}",
    )


def find_project_folder(folder: Path) -> Path | None:
    """Return the nearest folder, from this one up, of a project or of a server's state."""
    folders = (folder, *folder.parents)
    return next((each for each in folders if any((each / mark).exists() for mark in _MARKS)), None)


def _list_projects(url: str) -> list[ProjectLine] | None:
    from bbops.interfaces.client import Remote  # noqa: PLC0415 - httpx: 100 ms

    try:
        with Remote(url, find_token(url)) as remote:
            return remote.projects()
    except ServerError:
        return None


def _is_served(folder: Path, url: str, lines: Iterable[ProjectLine]) -> bool:
    from bbops.source.git.comparing import find_around  # noqa: PLC0415 - GitPython
    from bbops.source.git.revisions import commit_of  # noqa: PLC0415
    from bbops.source.git.store import Store  # noqa: PLC0415

    if (around := find_around(folder)) is None:
        return False
    try:
        store = Store.open(around[0])
        if any(_is_at(remote, url) for remote in _list_remotes(store)):
            return True
        commits = filter(None, (commit_of(line.revision) for line in lines))
        return any(store.find_commit(commit) for commit in commits)
    except GitError:
        return False


def _list_remotes(store: Store) -> Iterator[str]:
    from bbops.source.git.command import run  # noqa: PLC0415 - GitPython

    asked = ("config", "--local", "--get-regexp", r"^remote\..*\.url$")
    listed = run(store.place, asked).output.decode(errors="replace")
    return (line.partition(" ")[2] for line in listed.splitlines())


def _is_at(remote: str, url: str) -> bool:
    """Return whether the repository of a remote is on the local server at a URL."""
    parts, own = split(remote), split(url)
    if parts is None or own is None or not is_here(remote):
        return False
    return is_here(url) and parts.port == own.port
