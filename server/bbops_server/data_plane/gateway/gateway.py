"""The data plane's door: a project's routes go to its live release, `/~…` goes to Litestar.

Project routes never touch Litestar's router, which is quadratic to build and has no backtracking.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any, Final

import msgspec
from litestar import Response, get

from bbops.runtime.agents.values import PATH as AGENTS
from bbops.runtime.auth.tokens import PATH as JWKS
from bbops.runtime.flow.run import code_of
from bbops.runtime.identities.kinds import PATH as SIGN_INS
from bbops_server.data_plane.drafts.drafts import Drafts
from bbops_server.data_plane.live.directory import Directory
from bbops_server.data_plane.live.playground import PREFIX, accept, serve_traced
from bbops_server.data_plane.live.swap import Live
from bbops_server.data_plane.pages.frontend import CONFIG, answer_not_ready
from bbops_server.data_plane.realtime.serving import PATH as REALTIME
from bbops_server.data_plane.realtime.serving import (
    answer_request,
    is_realtime,
    refuse_socket,
    serve_socket,
)
from bbops_server.process.application import Application
from bbops_server.process.sockets.wire import RequestProblem, find_problem

_OF_PROJECTS = frozenset((CONFIG, JWKS))
_JSON = (b"content-type", b"application/json")
_NO_STORE = (b"cache-control", b"no-store")
_NO_PROJECT = b'{"error":{"code":"notFound","message":"no project answers here"}}'

Headers = list[tuple[bytes, bytes]]


class DataPlane(Application):
    """An ordinary Litestar application whose `__call__` tries the live releases first.

    `proxies` are those in front of it whose word about a client is taken; None without any.
    `playground_key` verifies requests of the Playground; empty rejects them.
    """

    def __init__(self, directory: Directory, drafts: Drafts | None = None) -> None:
        self._directory, self._drafts = directory, drafts
        self.proxies: Proxies | None = None
        self.playground_key = b""
        super().__init__(
            [_health, _readiness(directory)], openapi_config=None, logging_config=None, debug=False
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request, or one event of the server's life."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await self._serve_socket(scope, receive, send)
            else:
                await super().__call__(scope, receive, send)
            return
        live = self._directory.only
        trouble = find_problem(scope)
        if trouble is not None:
            await _refuse(scope, send, live, trouble)
            return
        if self.proxies is not None:
            self.proxies.apply(scope)
        is_special = "/~" in scope["path"]
        if is_special or (self._drafts is not None and self._drafts.have_hosts):
            if self._drafts is not None and await self._drafts.answer(scope, receive, send):
                return
            path = scope["path"]
            if path.startswith(f"{PREFIX}/"):
                sender = accept(scope, self.playground_key)
                if sender is not None:
                    await serve_traced(self, scope, receive, send, sender)
                    return
            if path.startswith("/~") and not _is_of_project(path):
                await super().__call__(scope, receive, send)
                return
        if live is None and (live := self._directory.find(scope)) is None:
            await _send(scope, send, 404, _NO_PROJECT, [])
            return
        if live.held is not None:
            await live.held.wait()
        if live.refusal is not None:
            await _send(scope, send, 503, live.refusal, [_NO_STORE, *_release(live)])
        elif live.release is None:
            await answer_not_ready(scope, send)
        elif is_special and live.realtime.hub.topics and is_realtime(scope["path"]):
            await answer_request(live.realtime.hub, scope, receive, send)
        else:
            await live.release(scope, receive, send)

    async def _serve_socket(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one websocket."""
        if self.proxies is not None:
            self.proxies.apply(scope)
        live = self._directory.only or self._directory.find(scope)
        if find_problem(scope) is not None:
            await refuse_socket(send, 404, "no topics here")
        elif self._drafts is not None and self._drafts.are_asked(scope):
            await self._drafts.serve_socket(scope, receive, send)
        elif scope["path"] != REALTIME:
            await refuse_socket(send, 404, "no topics here")
        elif live is None or live.refusal is not None or live.release is None:
            await refuse_socket(send, 503, "no release is live yet")
        else:
            await serve_socket(live.realtime.hub, scope, receive, send)


def _is_of_project(path: str) -> bool:
    """Return whether a project answers at a path of this form, if anybody does."""
    return path in _OF_PROJECTS or path.startswith((SIGN_INS, AGENTS)) or is_realtime(path)


def _readiness(directory: Directory) -> Any:
    @get("/~ready", sync_to_thread=False)
    def ready() -> Response[dict[str, Any]]:
        """Whether every project that was ever live is, and the release of each."""
        is_ready, releases = directory.readiness()
        told: dict[str, Any] = {"status": "ready" if is_ready else "notReady"}
        live = directory.only
        if live is not None and live.release is not None:
            told |= {"release": live.release.name, "project": live.project}
        elif live is None:
            told["projects"] = releases
        return Response(told, status_code=200 if is_ready else 503)

    return ready


@get("/~health", sync_to_thread=False)
def _health() -> dict[str, str]:
    return {"status": "ok"}


async def _refuse(scope: Any, send: Any, live: Live | None, trouble: RequestProblem) -> None:
    status, message = trouble
    body = msgspec.json.encode({"error": {"code": code_of(status), "message": message}})
    # what follows the request cannot be trusted either
    await _send(scope, send, status, body, [(b"connection", b"close"), *_release(live)])


def _release(live: Live | None) -> Headers:
    if live is None or live.release is None:
        return []
    return [(b"x-release", live.release.name.encode())]


async def _send(scope: Any, send: Any, status: int, body: bytes, headers: Headers) -> None:
    length = (b"content-length", b"%d" % len(body))
    await send({
        "type": "http.response.start", "status": status, "headers": [_JSON, length, *headers],
    })  # fmt: skip
    is_head = scope["method"] == "HEAD"
    await send({"type": "http.response.body", "body": b"" if is_head else body})


# ---- Take the client's address and scheme from proxies that are known, and from nobody else
# Anybody can send `x-forwarded-for`: of the addresses in it, the last one that no known proxy has
# is the client, for what stands before it is the client's own word.

MAX_HOPS: Final = 32
_MAX_REMEMBERED: Final = 4_096
_SCHEMES: Final = {b"http": "http", b"https": "https"}


class Proxies:
    """The proxies in front of a data plane, as addresses and networks."""

    def __init__(self, networks: Sequence[str]) -> None:
        """Raises: ValueError: one of them is neither."""
        self._networks: list[IPv4Network | IPv6Network] = [ip_network(one) for one in networks]
        self._known: dict[str, bool | None] = {}

    def apply(self, scope: Any) -> None:
        """Change client and scheme of a request that a known proxy has passed on."""
        client = scope.get("client")
        if client is None or not self._is_known(client[0]):
            return
        headers = scope["headers"]
        hops = [v for name, v in headers if name == b"x-forwarded-for"]
        if hops:
            scope["client"] = (self._client(b",".join(hops), client[0]), 0)
        schemes = [v for name, v in headers if name == b"x-forwarded-proto"]
        if schemes:
            said = schemes[-1].rpartition(b",")[2].strip().lower()
            scope["scheme"] = _SCHEMES.get(said, scope["scheme"])

    def _client(self, hops: bytes, peer: str) -> str:
        """Return the last address that is no known proxy's; the proxy before what is none."""
        found = peer
        for hop in hops.decode("latin-1").split(",")[: -MAX_HOPS - 1 : -1]:
            address = hop.strip().removeprefix("[").partition("]")[0]
            is_known = self._is_known(address)
            if is_known is None:
                return found
            found = address
            if not is_known:
                return found
        return found

    def _is_known(self, address: str) -> bool | None:
        """Return whether an address is a known proxy's; None when it is no address."""
        if address not in self._known:
            if len(self._known) >= _MAX_REMEMBERED:
                self._known.clear()
            self._known[address] = self._look_up(address)
        return self._known[address]

    def _look_up(self, address: str) -> bool | None:
        try:
            found = ip_address(address)
        except ValueError:
            return None
        found = getattr(found, "ipv4_mapped", None) or found
        return any(found in network for network in self._networks)
