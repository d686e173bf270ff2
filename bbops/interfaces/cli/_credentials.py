"""Tokens of servers that this user has signed in at, and the key of a server of this folder.

They lie in the user's own settings folder, for their eyes only, never in a project.
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
"""The state folders of `bbops serve` and `bbops dev`, below `.bbops`."""

LOCAL_KEY = "control.json"
"""Where a server that runs keeps the key of this machine's user, in its state folder."""

_MAX_BYTES = 1 << 20


def find_token(url: str) -> str:
    """Return the token for a server: of BBOPS_TOKEN, stored, or its own key; empty without any."""
    if given := os.environ.get("BBOPS_TOKEN", "").strip():
        return given
    stored = read_all().get(url, {})
    return str(stored.get("token", "")) or next(_local_keys(url), "")


def find_server() -> str:
    """Return the address of the server that runs for this folder or one around it; else nothing.

    Only one of this machine: a folder may be somebody else's clone, and must not name a server that
    this user's token is sent to.
    """
    state = find_running()
    return str(_read(state / LOCAL_KEY).get("url", "")) if state else ""


def find_running(states: Sequence[str] = LOCAL_STATES) -> Path | None:
    """Return the state folder of the server that runs for this folder or one around it."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        for name in states:
            state = folder / ".bbops" / name
            url = _read(state / LOCAL_KEY).get("url")
            if isinstance(url, str) and split(url) is not None and is_here(url):
                return state
    return None


def read_all() -> dict[str, dict[str, str]]:
    """Return {"token", "email"} by the address of each server that is stored."""
    try:
        found = _read(_path())
    except RuntimeError:
        return {}
    servers = found.get("servers", {})
    return servers if isinstance(servers, dict) else {}


def store(url: str, token: str, email: str) -> Path:
    """Keep a token, in the place of one before; return the file.

    Raises:
        ServerError: it cannot be written.
    """
    return _write({**read_all(), url: {"token": token, "email": email}})


def forget(url: str) -> bool:
    """Forget the token of a server; False when there is none. Raises as `store`."""
    kept = read_all()
    if kept.pop(url, None) is None:
        return False
    _write(kept)
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
    """Yield the keys of servers of this folder and those around it that answer at an address."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        for name in LOCAL_STATES:
            found = _read(folder / ".bbops" / name / LOCAL_KEY)
            if found.get("url") == url and isinstance(found.get("token"), str):
                yield found["token"]


def _read(path: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError), path.open("rb") as file:
        found = json.loads(file.read(_MAX_BYTES))
        if isinstance(found, dict):
            return found
    return {}


def _path() -> Path:
    """Return the file of the tokens. Raises RuntimeError: there is no home folder."""
    base = os.environ.get("APPDATA" if os.name == "nt" else "XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "bbops" / "credentials.json"
