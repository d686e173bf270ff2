"""Tokens of the servers at which this user is signed in, and the key of a local server.

They are stored in the user's own settings folder, readable only by the user, never in a project.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bbops.base.addresses import is_here, split
from bbops.base.disk import replace_file
from bbops.base.errors import ServerError

LOCAL_STATES = ("state", "dev")
"""The state folders of `bbops serve` and `bbops dev`, inside `.bbops`."""

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
