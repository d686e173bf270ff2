"""What is known of a draft."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

State = Literal["asleep", "waking", "live", "stalled"]


class DraftStatus(msgspec.Struct, frozen=True):
    """One branch: where it is previewed, and how far that is.

    Attributes:
        slug: as its address has it.
        commit: the newest one.
        state: `asleep` until it is asked for; `stalled` with a message and diagnostics.
        release: what answers there, None while nothing does.
    """

    branch: str
    slug: str
    commit: str
    url: str
    state: State
    release: str | None
    message: str
    diagnostics: list[dict[str, Any]]
