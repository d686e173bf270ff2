"""The key of this machine's user: whoever can read the state folder owns the server.

It is new at every start, so that one who listens on the port of a server that is gone learns
nothing by it.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from bbops.disk import replace_file
from bbops_server.accounts.keys import make_key

FILE: Final = "control.json"
"""{"url", "shown", "token"} of the server that runs on a state folder; `shown` is for people."""


def write_local_key(state: Path, url: str, shown: str) -> str:
    """Write a new key where only the state folder's owner reads it, and return it.

    Args:
        state: the folder.
        url: where this machine reaches the control plane.
        shown: the address that people are told.

    Raises:
        OSError: it cannot be written.
    """
    key = make_key("bbl")
    replace_file(state / FILE, msgspec.json.encode({"url": url, "shown": shown, "token": key}))
    return key


def remove_local_key(state: Path) -> None:
    """Remove the key of a server that ends."""
    with suppress(OSError):
        (state / FILE).unlink()
