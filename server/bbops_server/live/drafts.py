"""The drafts of a data-plane process: branches that nobody has reviewed, served to members alone.

A draft sleeps until it is asked for: the first request tells the parent, which makes its release
and its database, and waits for that.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs

import msgspec

from bbops_server.live import draft_pages
from bbops_server.live.directory import read_host
from bbops_server.live.draft_cookies import Headers, only_own, read_token, token_cookie
from bbops_server.live.draft_keys import is_good
from bbops_server.live.draft_origin import drop_passwords, guard, keep_passing
from bbops_server.live.place import DraftPlace
from bbops_server.live.swap import Live

MARK: Final = "/~drafts/"
TOKEN_HEADER: Final = b"x-draft-token"
WAKING_SECONDS: Final = 25.0
"""How long a request waits for a draft that sleeps."""

_LOOK_SECONDS = 0.01
_ENTER: Final = "/~enter"
_MAX_FORM_BYTES = 4 << 10
_COOKIE_SECONDS = 12 * 3600
_FEWEST_STATUS, _MOST_STATUS = 200, 599


class Draft:
    """One draft; `live` has no release while it sleeps."""

    def __init__(self, place: DraftPlace, live: Live) -> None:
        self.place, self.live = place, live
        self.told_at = 0.0


class Asked(NamedTuple):
    """A request for a draft: `prefix` leads to it, empty on a host of its own."""

    name: str
    draft: Draft
    prefix: str

    @property
    def is_own_host(self) -> bool:
        """Whether nothing live answers on this host."""
        return not self.prefix


class Drafts:
    """All drafts of a process, by their host or their prefix."""

    def __init__(self, make: Callable[[], Live], tell: Callable[[str], None]) -> None:
        """`tell` says to the parent that a draft of this name was asked for."""
        self._make, self._tell = make, tell
        self._by_name: dict[str, Draft] = {}
        self._by_prefix: dict[bytes, list[tuple[str, Draft]]] = {}
        self._by_host: dict[bytes, tuple[str, Draft]] = {}
        self._suffix = b""
        self._leaving: set[asyncio.Task[None]] = set()

    def arrange(self, places: Mapping[str, DraftPlace], hosts: str = "") -> None:
        """Let these drafts answer, and no others; `hosts` is the wildcard that is for drafts."""
        for name in self._by_name.keys() - places.keys():
            self._retire(self._by_name.pop(name))
        for name, place in places.items():
            known = self._by_name.get(name)
            if known is None:
                self._by_name[name] = Draft(place, self._make())
            else:
                known.place = place
        self._by_prefix, self._by_host, self._suffix = {}, {}, hosts[1:].encode()
        for name, draft in self._by_name.items():
            self._by_prefix.setdefault(draft.place.prefix.encode(), []).append((name, draft))
            if draft.place.own_host:
                self._by_host[draft.place.own_host.encode()] = name, draft

    @property
    def have_hosts(self) -> bool:
        """Whether drafts answer on hosts of their own: then every request may be for one."""
        return bool(self._suffix)

    def live(self, name: str) -> Live | None:
        """Return a draft's releases, None when there is no draft of that name."""
        draft = self._by_name.get(name)
        return draft.live if draft else None

    def rest(self, name: str) -> None:
        """Let a draft sleep: close what it has open once its last request is answered."""
        draft = self._by_name.get(name)
        if draft is not None:
            self._retire(Draft(draft.place, draft.live))
            draft.live, draft.told_at = self._make(), 0.0

    async def close(self) -> None:
        """Close what every draft has open."""
        for task in self._leaving:
            task.cancel()
        await asyncio.gather(*(draft.live.close() for draft in self._by_name.values()))

    async def answer(self, scope: Any, receive: Any, send: Any) -> bool:
        """Answer a request for a draft; return False, with nothing sent, when it is for none."""
        asked = self._find(scope)
        if asked is None:
            # what was a draft's host once must not become one of what is live
            if not self._suffix or not read_host(scope).endswith(self._suffix):
                return False
            gone = _say("notFound", "there is no draft at this host")
            await _send(send, 404, gone, [], is_own_host=True)
            return True
        if asked.draft.place.own_host and not asked.is_own_host:
            await _send(send, 307, b"", [(b"location", _move(asked, scope))])
            return True
        draft, cut = asked.draft, len(asked.prefix)  # plain ASCII: as long decoded as it was sent
        path = scope["path"][cut:] or "/"
        key, now = bytes.fromhex(draft.place.key), time.time()  # noqa: TID251 - expiry
        end = 0 if asked.is_own_host else draft_pages.find_end(path, key, now)
        if path == _ENTER and scope["method"] == "POST":
            await _enter(asked, receive, send)
        elif end:
            self._use(asked)
            sending = draft_pages.opening(_marking(asked, send))
            if _is_preflight(scope):
                await draft_pages.answer_preflight(sending)
            else:
                await self._pass_on(draft, _cut(scope, asked, cut + end), receive, sending)
        elif not (_is_preflight(scope) or _is_let_in(scope, draft)):
            closed = _say("draftClosed", _how_to_enter(draft))
            await _send(send, 401, closed, [], is_own_host=asked.is_own_host)
        else:
            self._use(asked)
            inner, sending = _cut(scope, asked, cut), _marking(asked, send)
            await _wait(draft)
            if not asked.is_own_host and draft_pages.is_of_frontend(inner, draft.live):
                await _send(sending, 303, b"", [(b"location", _address(draft, inner, now))])
            else:
                await self._pass_on(draft, inner, receive, sending)
        return True

    def _find(self, scope: Any) -> Asked | None:
        host = read_host(scope)
        if found := self._by_host.get(host):
            return Asked(*found, "")
        path: bytes = scope.get("raw_path") or scope["path"].encode()
        at = path.find(MARK.encode())
        end = path.find(b"/", at + len(MARK))
        prefix = path if end < 0 else path[:end]
        for name, draft in self._by_prefix.get(prefix, ()) if at >= 0 else ():
            if not draft.place.hosts or host.decode("latin-1") in draft.place.hosts:
                return Asked(name, draft, draft.place.prefix)
        return None

    def _use(self, asked: Asked) -> None:
        now, draft = time.monotonic(), asked.draft
        if now - draft.told_at > draft.place.tell_seconds:
            draft.told_at = now
            self._tell(asked.name)

    async def _pass_on(self, draft: Draft, scope: Any, receive: Any, sending: Any) -> None:
        live = await _wait(draft)
        if live.refusal is not None:
            draft.told_at = 0.0
            await _send(sending, 503, live.refusal, [])
        elif live.release is None:
            draft.told_at = 0.0
            message = "this draft is being made; ask again in a moment"
            await _send(sending, 503, _say("draftSleeps", message), [(b"retry-after", b"1")])
        else:
            if live.held is not None:
                await live.held.wait()
            await live.release(scope, receive, sending)

    def _retire(self, draft: Draft) -> None:
        task = asyncio.create_task(draft.live.retire())
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)


def _cut(scope: Any, asked: Asked, end: int) -> Any:
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


def _address(draft: Draft, inner: Any, now: float) -> bytes:
    key, query = bytes.fromhex(draft.place.key), inner["query_string"]
    path = draft_pages.address_of(key, inner["raw_path"].decode("latin-1"), now)
    return draft.place.prefix.encode() + path.encode("latin-1") + (b"?" + query if query else b"")


async def _wait(draft: Draft) -> Live:
    """Return the draft's releases once one of them can answer, or nobody waits any longer."""
    until = time.monotonic() + WAKING_SECONDS
    while time.monotonic() < until:
        live = draft.live  # another one, once it has slept
        if live.release is not None or live.refusal is not None:
            return live
        await asyncio.sleep(_LOOK_SECONDS)
    return draft.live


def _is_let_in(scope: Any, draft: Draft) -> bool:
    given = read_token(scope["headers"])
    for name, value in scope["headers"]:
        if name == TOKEN_HEADER:
            given = value.decode("latin-1")
    return is_good(given, bytes.fromhex(draft.place.key), time.time())  # noqa: TID251 - expiry


def _is_preflight(scope: Any) -> bool:
    """Return whether a browser asks what it may send: it never sends a token with that."""
    return scope["method"] == "OPTIONS" and any(
        name == b"access-control-request-method" for name, _ in scope["headers"]
    )


async def _enter(asked: Asked, receive: Any, send: Any) -> None:
    """Take the token of a form that the control plane's page sent, and keep it in a cookie."""
    place, is_own_host = asked.draft.place, asked.is_own_host
    fields = parse_qs((await _read_body(receive)).decode("latin-1"))
    token = fields.get("token", [""])[0]
    if not is_good(token, bytes.fromhex(place.key), time.time()):  # noqa: TID251 - expiry
        closed = _say("draftClosed", _how_to_enter(asked.draft))
        await _send(send, 401, closed, [], is_own_host=is_own_host)
        return
    cookie = token_cookie(token, asked.prefix, seconds=_COOKIE_SECONDS, is_secure=place.is_secure)
    headers = [(b"location", asked.prefix.encode() + b"/"), (b"set-cookie", cookie.encode())]
    await _send(send, 303, b"", headers, is_own_host=is_own_host)


async def _read_body(receive: Any) -> bytes:
    data = bytearray()
    while len(data) <= _MAX_FORM_BYTES:
        message = await receive()
        data += message.get("body", b"")
        if message["type"] == "http.disconnect" or not message.get("more_body"):
            return bytes(data)
    return b""


def _move(asked: Asked, scope: Any) -> bytes:
    """Return where a draft with a host of its own answers what was asked on the live host."""
    path = (scope.get("raw_path") or b"")[len(asked.prefix) :] or b"/"
    query: bytes = scope["query_string"]
    return asked.draft.place.url.encode() + path + (b"?" + query if query else b"")


def _marking(asked: Asked, send: Any) -> Any:
    """Return a `send` that lets an answer of a draft through: whose it is, and nothing beyond it.

    Informational answers and trailers stay behind.
    """
    prefix, is_own_host = asked.prefix.encode(), asked.is_own_host
    mark = (b"x-draft", asked.draft.place.branch.encode("ascii", "backslashreplace"))

    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            status = message["status"]
            if not _FEWEST_STATUS <= status <= _MOST_STATUS:
                status = 502
            headers = keep_passing(message.get("headers", ()), prefix)
            await send({
                "type": "http.response.start", "status": status,
                "headers": guard([*headers, mark], is_own_host=is_own_host),
            })  # fmt: skip
        elif message["type"] == "http.response.body":
            await send(message)

    return sending


def _how_to_enter(draft: Draft) -> str:
    return (
        f"this is a draft: members of the project open it at {draft.place.tells};"
        f" programs send the header 'x-draft-token', which 'bbops drafts token' makes"
    )


def _say(code: str, message: str) -> bytes:
    return msgspec.json.encode({"error": {"code": code, "message": message}})


async def _send(
    send: Any, status: int, body: bytes, headers: Headers, *, is_own_host: bool = False
) -> None:
    await send({
        "type": "http.response.start", "status": status,
        "headers": [
            (b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)),
            *guard([(b"cache-control", b"no-store"), *headers], is_own_host=is_own_host),
        ],
    })  # fmt: skip
    await send({"type": "http.response.body", "body": body})
