"""Show a draft's frontend: at an address that lets in by itself.

A page of a draft is sandboxed, so browsers send no cookie with what it asks for: its scripts, its
styles and the API. It is opened at `/~as/KEY/` below the draft, and what it asks for relatively is
let in by the key, which opens nothing else and ends with the visit.
"""

from __future__ import annotations

import hmac
from html import escape
from typing import Any, Final

import msgspec

from bbops_server.data_plane.drafts.keys import PREFIX, find_mark, make_token
from bbops_server.data_plane.live.swap import Live
from bbops_server.data_plane.pages.frontend import wants_page
from bbops_server.data_plane.pages.start_page import render_links, render_page, send_page
from bbops_server.process.messages.drafts import DraftPlace

MARK: Final = "/~as/"
LASTS_SECONDS: Final = 12 * 3600
_PREFLIGHT: Final = (
    (b"access-control-allow-methods", b"GET, HEAD, POST, PUT, PATCH, DELETE"),
    (b"access-control-allow-headers", b"authorization, content-type, *"),
    (b"access-control-max-age", b"600"),
)


def address_of(key: bytes, path: str, now: float, mark: str) -> str:
    """Return the path, below the draft, that shows what `path` does to a person."""
    return f"{MARK}{make_token(_own(key), now + LASTS_SECONDS, mark)[len(PREFIX) :]}{path}"


def find_end(path: str, key: bytes, now: float) -> tuple[int, str | None]:
    """Return where the key of an address ends in its path, and the mark of who has opened it.

    0 and None where it has none that is good.
    """
    if not path.startswith(MARK):
        return 0, None
    end = path.find("/", len(MARK))
    mark = find_mark(PREFIX + path[len(MARK) : end], _own(key), now) if end > 0 else None
    return (0, None) if mark is None else (end, mark)


def is_of_frontend(scope: Any, live: Live) -> bool:
    """Return whether a browser opens a page that no route answers."""
    release = live.release
    if release is None or release.beside is None or not wants_page(scope):
        return False
    return release.table.match("GET", scope["path"])[0] is None


async def show_way_in(scope: Any, send: Any, place: DraftPlace) -> None:
    """Show who has no token how to come in."""
    parts = [
        "<p>Members of the project open it in the control plane, under Drafts.</p>",
        render_links([("Control plane", place.tells)]),
        "<p>Programs send a token, which <code>bbops drafts token</code> makes.</p>",
    ]
    await send_page(scope, send, 401, render_page("This is a draft", parts).encode())


async def show_refusal(scope: Any, send: Any, place: DraftPlace, refusal: bytes) -> None:
    """Show a member why a draft does not answer; `refusal` is what programs are told."""
    message = str(msgspec.json.decode(refusal)["error"]["message"])
    way_back = render_links([("Control plane", place.tells)])
    title = f"Draft {place.branch} does not answer"
    page = render_page(title, [f"<p><code>{escape(message)}</code></p>", way_back])
    await send_page(scope, send, 503, page.encode())


def opening(send: Any) -> Any:
    """Return a `send` that lets a sandboxed page, whose origin is `null`, read each answer."""

    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            kept = [one for one in message["headers"] if not one[0].startswith(b"access-control-")]
            more = [(b"access-control-allow-origin", b"*"), (b"referrer-policy", b"no-referrer")]
            message = {**message, "headers": [*kept, *more]}
        await send(message)

    return sending


async def answer_preflight(send: Any) -> None:
    """Let a sandboxed page send what it likes: nothing that the browser keeps comes along."""
    await send({"type": "http.response.start", "status": 204, "headers": list(_PREFLIGHT)})
    await send({"type": "http.response.body", "body": b""})


def _own(key: bytes) -> bytes:
    """Return a key for addresses alone: what they show is no token of the header or the cookie."""
    return hmac.digest(key, b"address", "sha256")
