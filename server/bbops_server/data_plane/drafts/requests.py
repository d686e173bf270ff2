"""A draft of a data process, and requests for it without their tokens."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final, NamedTuple

from bbops_server.data_plane.drafts.keys import find_mark, only_own, read_token
from bbops_server.data_plane.drafts.pages import drop_passwords
from bbops_server.process.messages.drafts import DraftPlace

TOKEN_HEADER: Final = b"x-draft-token"


def inner_scope(scope: Any, asked: DraftRequest, end: int) -> Any:
    """Return a request as the project sees it: without what leads to the draft, and its token."""
    headers = only_own(scope["headers"])
    if not asked.is_own_host:
        headers = drop_passwords(headers)
    return {
        **scope, "path": scope["path"][end:] or "/",
        "raw_path": (scope.get("raw_path") or b"")[end:] or b"/",
        "root_path": scope["path"][:end],
        "headers": [one for one in headers if one[0] != TOKEN_HEADER],
    }  # fmt: skip


def mark_of(scope: Any, draft: Draft) -> str | None:
    """Return the owner of a request's token; None without a valid token."""
    given = read_token(scope["headers"])
    for name, value in scope["headers"]:
        if name == TOKEN_HEADER:
            given = value.decode("latin-1")
    return find_mark(given, bytes.fromhex(draft.place.key), time.time())  # noqa: TID251 - expiry


def is_of_another_page(scope: Any) -> bool:
    """Return whether a page of another origin opens a websocket by the cookie of this host.

    Browsers let every page open one, and send cookies along.
    """
    headers = dict(scope["headers"])
    origin = headers.get(b"origin")
    if TOKEN_HEADER in headers or origin is None:
        return False
    return bool(origin.partition(b"://")[2] != headers.get(b"host"))


def is_preflight(scope: Any) -> bool:
    """Return whether a browser asks what it may send: it never sends a token with that."""
    return scope["method"] == "OPTIONS" and any(
        name == b"access-control-request-method" for name, _ in scope["headers"]
    )


# ---- One draft of a data-process, and a request for it


class Draft:
    """One draft; it sleeps while it has neither a `socket` to ask nor a `refusal`."""

    def __init__(self, place: DraftPlace) -> None:
        self.place = place
        self.socket = ""
        self.refusal: bytes | None = None
        self.is_busy = False
        self.in_flight = self.sockets = 0
        self.told_at = 0.0
        self.is_ready = asyncio.Event()

    def be(self, socket: str, refusal: bytes | None, *, is_busy: bool) -> None:
        """Answer from there from now on, or with that."""
        self.socket, self.refusal, self.is_busy = socket, refusal, is_busy
        if socket or refusal is not None:
            self.is_ready.set()
        else:
            self.is_ready.clear()
            self.told_at = 0.0


class DraftRequest(NamedTuple):
    """A request for a draft: `prefix` leads to it, empty on a host of its own."""

    name: str
    draft: Draft
    prefix: str

    @property
    def is_own_host(self) -> bool:
        """Whether nothing live answers on this host."""
        return not self.prefix
