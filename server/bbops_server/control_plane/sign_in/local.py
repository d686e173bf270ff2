"""The key of this machine's user: whoever can read the state folder owns the server.

It is new at every start, so that one who listens on the port of a server that is gone learns
nothing by it.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from bbops.base.disk import replace_file
from bbops_server.accounts.keys import make_key

FILE: Final = "control.json"
"""{"url", "shown", "token"} of the server that runs on a state folder; `shown` is for people."""


def write_local_key(state: Path, url: str, shown: str, *, goes_on: bool = False) -> str:
    """Write a new key where only the state folder's owner reads it, and return it.

    Args:
        state: the folder.
        url: where this machine reaches the control plane.
        shown: the address that people are told.
        goes_on: whether the address was handed over, so that nobody else has listened there; then
            the key of the server before is taken, which commands may just have read.

    Raises:
        OSError: it cannot be written.
    """
    key = (_read_key(state, url) if goes_on else "") or make_key("bbl")
    replace_file(state / FILE, msgspec.json.encode({"url": url, "shown": shown, "token": key}))
    return key


def _read_key(state: Path, url: str) -> str:
    with suppress(OSError, msgspec.MsgspecError):
        known = msgspec.json.decode((state / FILE).read_bytes(), type=dict[str, str])
        return known.get("token", "") if known.get("url") == url else ""
    return ""


def remove_local_key(state: Path) -> None:
    """Remove the key of a server that ends."""
    with suppress(OSError):
        (state / FILE).unlink()
