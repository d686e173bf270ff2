"""The drafts of a data-plane process: who is let in, and where each one answers.

The code of a draft never runs here: it has a process of its own, which a request is passed on to.
A draft sleeps until it is asked for: the first request tells the parent, which makes its release,
its database and its process, and waits for that.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final
from urllib.parse import parse_qs

import msgspec

from bbops_server.data_plane.drafts import pages as draft_pages
from bbops_server.data_plane.drafts.keys import Headers, Marks, find_mark, own_names, token_cookie
from bbops_server.data_plane.drafts.pages import guard, keep_passing
from bbops_server.data_plane.drafts.requests import (
    Draft,
    DraftRequest,
    inner_scope,
    is_of_another_page,
    is_preflight,
    mark_of,
)
from bbops_server.data_plane.drafts.sockets import MOST_SOCKETS, pass_socket
from bbops_server.data_plane.drafts.wire import pass_on
from bbops_server.data_plane.live.directory import read_host
from bbops_server.data_plane.pages.frontend import wants_page
from bbops_server.data_plane.realtime.serving import PATH as REALTIME
from bbops_server.data_plane.realtime.serving import refuse_socket
from bbops_server.process.forks.limits import MAX_REQUESTS
from bbops_server.process.messages.drafts import DraftPlace

MARK: Final = "/~drafts/"
WAKING_SECONDS: Final = 25.0
"""How long a request waits for a draft that sleeps."""

_TELL_AGAIN_SECONDS: Final = 1.0
_LATE_SECONDS: Final = 3.0
"""When the parent is told once more of a request: then it looks whether the process hangs."""
_ENTER: Final = "/~enter"
_MAX_FORM_BYTES = 4 << 10
_COOKIE_SECONDS = 12 * 3600
_FEWEST_STATUS, _MOST_STATUS = 200, 599
_BUSY_SECONDS: Final = 5
_GONE: Final = b'{"error":{"code":"draftGone","message":"the branch of this draft is gone"}}'
"""To what waited for it."""


class Drafts:
    """All drafts of a process, by their host or their prefix."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        """`tell` says to the parent that a draft of this name was asked for."""
        self._tell = tell
        self._by_name: dict[str, Draft] = {}
        self._by_prefix: dict[bytes, list[tuple[str, Draft]]] = {}
        self._by_host: dict[bytes, tuple[str, Draft]] = {}
        self._suffix = b""
        self.have_hosts = False
        """Whether drafts have hosts of their own, so that any request may be for a draft."""
        self._members: Mapping[str, frozenset[str]] = {}

    def admit(self, members: Marks) -> None:
        """Let these people in who have a token, and no others."""
        self._members = {where: frozenset(marks) for where, marks in members.items()}

    def arrange(self, places: Mapping[str, DraftPlace], hosts: str = "") -> None:
        """Let these drafts answer, and no others; `hosts` is the wildcard that is for drafts."""
        for name in self._by_name.keys() - places.keys():
            self._by_name.pop(name).be("", _GONE, is_busy=False)
        for name, place in places.items():
            self._by_name.setdefault(name, Draft(place)).place = place
        self._by_prefix, self._by_host, self._suffix = {}, {}, hosts[1:].encode()
        self.have_hosts = bool(self._suffix)
        for name, draft in self._by_name.items():
            self._by_prefix.setdefault(draft.place.prefix.encode(), []).append((name, draft))
            if draft.place.own_host:
                self._by_host[draft.place.own_host.encode()] = name, draft

    def find(self, name: str) -> Draft | None:
        """Return a draft; None when there is none of that name."""
        return self._by_name.get(name)

    def is_own_host(self, scope: Any) -> bool:
        """Return whether a request is for a host that only drafts have."""
        return bool(self._suffix) and read_host(scope).endswith(self._suffix)

    def are_asked(self, scope: Any) -> bool:
        """Whether a request is for a draft, which may be gone."""
        return MARK in scope["path"] or self.is_own_host(scope)

    async def answer(self, scope: Any, receive: Any, send: Any) -> bool:
        """Answer a request for a draft; return False, with nothing sent, when it is for none."""
        asked = self._find(scope)
        if asked is None:
            # what was a draft's host once must not become one of what is live
            if not self.is_own_host(scope):
                return False
            gone = _say("notFound", "no draft at this host")
            await _send(send, 404, gone, [], is_own_host=True)
            return True
        if asked.draft.place.own_host and not asked.is_own_host:
            await _send(send, 307, b"", [(b"location", _move(asked, scope))])
            return True
        draft, cut = asked.draft, len(asked.prefix)  # plain ASCII: as long decoded as it was sent
        path = scope["path"][cut:] or "/"
        key, now = bytes.fromhex(draft.place.key), time.time()  # noqa: TID251 - expiry
        end, opened_by = draft_pages.find_end(path, key, now)
        mark = mark_of(scope, draft)
        if path == _ENTER and scope["method"] == "POST":
            await self._enter(asked, scope, receive, send)
        elif end and not asked.is_own_host and self._admits(asked, opened_by):
            self._use(asked)
            sending = draft_pages.opening(_marking(asked, scope, send))
            if is_preflight(scope):
                await draft_pages.answer_preflight(sending)
            else:
                await self._pass_on(asked, inner_scope(scope, asked, cut + end), receive, sending)
        elif mark is None or not self._admits(asked, mark):
            await self._meet(asked, scope, cut, receive, send)
        else:
            self._use(asked)
            inner, sending = inner_scope(scope, asked, cut), _marking(asked, scope, send)
            leads = not asked.is_own_host and wants_page(inner)
            if await self._pass_on(asked, inner, receive, sending, leads=leads) == "leads":
                await _send(sending, 303, b"", [(b"location", _address(draft, inner, now, mark))])
        return True

    async def serve_socket(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one websocket of a draft, or refuse it."""
        asked = self._find(scope)
        if asked is None or (asked.draft.place.own_host and not asked.is_own_host):
            await refuse_socket(send, 404, "no draft here")
            return
        cut = len(asked.prefix)
        key, now = bytes.fromhex(asked.draft.place.key), time.time()  # noqa: TID251 - expiry
        end, opened_by = draft_pages.find_end(scope["path"][cut:], key, now)
        if end and not asked.is_own_host and self._admits(asked, opened_by):
            inner = inner_scope(scope, asked, cut + end)
        else:
            mark = mark_of(scope, asked.draft)
            if mark is None or not self._admits(asked, mark) or is_of_another_page(scope):
                await refuse_socket(send, 401, _how_to_enter(asked.draft))
                return
            inner = inner_scope(scope, asked, cut)
        if inner["path"] != REALTIME:
            await refuse_socket(send, 404, "no topics here")
            return
        self._use(asked)
        await self._wait(asked)
        await self._pass_socket(asked, inner, receive, send)

    async def _pass_socket(self, asked: DraftRequest, scope: Any, receive: Any, send: Any) -> None:
        draft = asked.draft
        if draft.refusal is not None or not draft.socket:
            draft.told_at = 0.0
            await refuse_socket(send, 503, "this draft is not ready; try again in a moment")
        elif draft.is_busy or draft.sockets >= MOST_SOCKETS:
            await refuse_socket(send, 429, "this draft exceeds its share of the server")
        else:
            draft.sockets += 1
            try:
                heard = partial(self._use, asked)
                outcome = await pass_socket(draft.socket, scope, receive, send, heard)
            finally:
                draft.sockets -= 1
            if outcome == "absent":  # its process has just ended, which we were not told yet
                draft.be("", None, is_busy=False)
                await refuse_socket(send, 503, "this draft is starting; try again in a moment")
            elif outcome == "gone":
                await refuse_socket(send, 404, "this draft has no topics, or has just ended")

    def _find(self, scope: Any) -> DraftRequest | None:
        host = read_host(scope)
        if found := self._by_host.get(host):
            return DraftRequest(*found, "")
        path: bytes = scope.get("raw_path") or scope["path"].encode()
        at = path.find(MARK.encode())
        end = path.find(b"/", at + len(MARK))
        prefix = path if end < 0 else path[:end]
        for name, draft in self._by_prefix.get(prefix, ()) if at >= 0 else ():
            if not draft.place.hosts or host.decode("latin-1") in draft.place.hosts:
                return DraftRequest(name, draft, draft.place.prefix)
        return None

    def _admits(self, asked: DraftRequest, mark: str | None) -> bool:
        """Return whether somebody still has a role in the project, or it is the server itself."""
        project = asked.name.partition(MARK)[0]
        return not mark or any(mark in self._members.get(one, ()) for one in ("", project))

    async def _enter(self, asked: DraftRequest, scope: Any, receive: Any, send: Any) -> None:
        """Take the token of a form that the control plane's page sent, and keep it in a cookie."""
        place, is_own_host = asked.draft.place, asked.is_own_host
        fields = parse_qs((await _read_body(receive)).decode("latin-1"))
        token, key = fields.get("token", [""])[0], bytes.fromhex(place.key)
        mark = find_mark(token, key, time.time())  # noqa: TID251 - expiry
        if mark is None or not self._admits(asked, mark):
            await _close(asked, scope, send)
            return
        cookie = token_cookie(
            token, asked.prefix, seconds=_COOKIE_SECONDS, is_secure=place.is_secure
        )
        headers = [(b"location", asked.prefix.encode() + b"/"), (b"set-cookie", cookie.encode())]
        await _send(send, 303, b"", headers, is_own_host=is_own_host)

    async def _meet(
        self, asked: DraftRequest, scope: Any, cut: int, receive: Any, send: Any
    ) -> None:
        """Answer who has no token: a browser that asks what it may send never has one.

        That neither wakes a draft nor says what is wrong with it.
        """
        draft, sending = asked.draft, _marking(asked, scope, send, is_named=False)
        if not is_preflight(scope):
            await _close(asked, scope, send)
        elif draft.socket and draft.refusal is None:
            await self._pass_on(asked, inner_scope(scope, asked, cut), receive, sending)
        else:
            await draft_pages.answer_preflight(draft_pages.opening(sending))

    def _use(self, asked: DraftRequest) -> None:
        now, draft = time.monotonic(), asked.draft
        if now - draft.told_at > draft.place.tell_seconds:
            draft.told_at = now
            self._tell(asked.name)

    async def _wait(self, asked: DraftRequest) -> None:
        """Return once the draft can answer, or nobody waits any longer.

        The parent is told again and again: it may have heard before its process had ended.
        """
        until = time.monotonic() + WAKING_SECONDS
        while not asked.draft.is_ready.is_set() and time.monotonic() < until:
            with suppress(TimeoutError):
                async with asyncio.timeout(_TELL_AGAIN_SECONDS):
                    await asked.draft.is_ready.wait()
                    return
            self._tell(asked.name)

    async def _pass_on(
        self, asked: DraftRequest, scope: Any, receive: Any, sending: Any, *, leads: bool = False
    ) -> str:
        """Let the draft answer, or say why it does not; return `leads` where nothing was sent."""
        draft = asked.draft
        await self._wait(asked)
        if draft.refusal is not None:
            draft.told_at = 0.0
            if wants_page(scope):
                await draft_pages.show_refusal(scope, sending, draft.place, draft.refusal)
            else:
                await _send(sending, 503, draft.refusal, [])
        elif not draft.socket:
            draft.told_at = 0.0
            message = "this draft is starting; try again in a moment"
            await _send(sending, 503, _say("draftSleeps", message), [(b"retry-after", b"1")])
        elif draft.is_busy or draft.in_flight >= MAX_REQUESTS:
            message = "this draft exceeds its share of the server; try again later"
            later = (b"retry-after", b"%d" % _BUSY_SECONDS)
            await _send(sending, 429, _say("draftBusy", message), [later])
        else:
            return await self._answer(asked, scope, receive, sending, leads=leads)
        return "answered"

    async def _answer(
        self, asked: DraftRequest, scope: Any, receive: Any, sending: Any, *, leads: bool
    ) -> str:
        draft, socket = asked.draft, asked.draft.socket
        draft.in_flight += 1
        late = asyncio.get_running_loop().call_later(_LATE_SECONDS, self._tell, asked.name)
        try:
            outcome = await pass_on(socket, scope, receive, sending, leads=leads)
        finally:
            late.cancel()
            draft.in_flight -= 1
        if outcome == "absent":
            if draft.socket == socket:  # its process has just ended, which we were not told yet
                draft.be("", None, is_busy=False)
                self._use(asked)
            return await self._pass_on(asked, scope, receive, sending, leads=leads)
        if outcome == "gone":
            message = "the process of this draft ended before it answered; it may exceed its limits"
            await _send(sending, 502, _say("draftEnded", message), [(b"retry-after", b"1")])
        return outcome


def _address(draft: Draft, inner: Any, now: float, mark: str) -> bytes:
    key, query = bytes.fromhex(draft.place.key), inner["query_string"]
    path = draft_pages.address_of(key, inner["raw_path"].decode("latin-1"), now, mark)
    return draft.place.prefix.encode() + path.encode("latin-1") + (b"?" + query if query else b"")


async def _close(asked: DraftRequest, scope: Any, send: Any) -> None:
    """Keep out who has no token: people are shown the way in."""
    if wants_page(scope):
        await draft_pages.show_way_in(
            scope, _marking(asked, scope, send, is_named=False), asked.draft.place
        )
        return
    closed = _say("draftClosed", _how_to_enter(asked.draft))
    await _send(send, 401, closed, [], is_own_host=asked.is_own_host)


async def _read_body(receive: Any) -> bytes:
    data = bytearray()
    while len(data) <= _MAX_FORM_BYTES:
        message = await receive()
        data += message.get("body", b"")
        if message["type"] == "http.disconnect" or not message.get("more_body"):
            return bytes(data)
    return b""


def _move(asked: DraftRequest, scope: Any) -> bytes:
    """Return where a draft with a host of its own answers what was asked on the live host."""
    path = (scope.get("raw_path") or b"")[len(asked.prefix) :] or b"/"
    query: bytes = scope["query_string"]
    return asked.draft.place.url.encode() + path + (b"?" + query if query else b"")


def _marking(asked: DraftRequest, scope: Any, send: Any, *, is_named: bool = True) -> Any:
    """Return a `send` that lets an answer of a draft through: whose it is, and nothing beyond it.

    Informational answers and trailers stay behind. Strangers are not told the branch: `is_named`.
    """
    prefix, is_own_host = asked.prefix.encode(), asked.is_own_host
    branch = asked.draft.place.branch.encode("ascii", "backslashreplace")
    marks, known = [(b"x-draft", branch)] if is_named else [], own_names(scope["headers"])

    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            status = message["status"]
            if not _FEWEST_STATUS <= status <= _MOST_STATUS:
                status = 502
            headers = keep_passing(message.get("headers", ()), prefix, known)
            await send({
                "type": "http.response.start", "status": status,
                "headers": guard([*headers, *marks], is_own_host=is_own_host),
            })  # fmt: skip
        elif message["type"] == "http.response.body":
            await send(message)

    return sending


def _how_to_enter(draft: Draft) -> str:
    return (
        f"this is a draft: members of the project open it at {draft.place.control_url};"
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
