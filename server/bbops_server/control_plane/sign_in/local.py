"""The key of the local user: a user who can read the state folder owns the server.

The key is new at every start, so that a program that listens on the port of a stopped server
cannot use a key that it receives.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from bbops.base.disk import replace_file
from bbops_server.accounts.keys import make_key

FILE: Final = "control.json"
"""{"url", "shown", "token"} of the running server; `shown` is the URL for people."""


def write_local_key(state: Path, url: str, shown: str, *, is_handed_over: bool = False) -> str:
    """Write a key that only the state folder's owner can read, and return it.

    Args:
        state: the folder.
        url: the URL of the control plane on this machine.
        shown: the URL for people.
        is_handed_over: whether the socket was taken over from a predecessor, so that no other
            program has listened on it; then the predecessor's key stays valid for running commands.

    Raises:
        OSError: the file cannot be written.
    """
    key = (_read_key(state, url) if is_handed_over else "") or make_key("bbl")
    replace_file(state / FILE, msgspec.json.encode({"url": url, "shown": shown, "token": key}))
    return key


def _read_key(state: Path, url: str) -> str:
    with suppress(OSError, msgspec.MsgspecError):
        stored = msgspec.json.decode((state / FILE).read_bytes(), type=dict[str, str])
        return stored.get("token", "") if stored.get("url") == url else ""
    return ""


def remove_local_key(state: Path) -> None:
    """Remove the key of a server that stops."""
    with suppress(OSError):
        (state / FILE).unlink()
