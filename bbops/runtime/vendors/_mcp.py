"""Tools of an MCP server as steps: the definition is looked at before each call, then it is called.

A tool's description is an instruction to whoever reads it. One that is not the one that was chosen
is not called.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec

from bbops.base.host import Http, HttpRequest, HttpResponse
from bbops.runtime.values.failures import HttpFailure
from bbops.runtime.values.outside import MOST_WORDS, Refusal, failure_of, send
from bbops.runtime.vendors._credentials import GOOD, Credentials
from bbops.runtime.vendors._parts import text_at
from bbops.runtime.vendors._work import AddonFailure, Work, read_json, write_json

PROTOCOL: Final = "2025-11-25"
MOST_PAGES: Final = 20
MOST_TEXT: Final = 1_000_000
_ACCEPT: Final = "application/json, text/event-stream"
_DEFINED: Final = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")


MakeRequest = Callable[[str, str, Mapping[str, str], bytes], HttpRequest]
"""Makes a request of method, address, headers and body, on somebody's terms."""


def digest_of(tool: Mapping[str, Any]) -> str:
    """Return the digest of a tool's definition: its words and its schemas, whatever their order."""
    told = {key: tool[key] for key in _DEFINED if tool.get(key) is not None}
    whole = msgspec.json.encode(told, order="deterministic")
    return f"sha256:{hashlib.sha256(whole).hexdigest()}"


@dataclass(slots=True)
class Session:
    """A conversation with a server: the headers that each request of it has."""

    http: Http
    url: str
    headers: dict[str, str]
    request: MakeRequest
    now: Callable[[], datetime]
    count: int = 0

    async def open(self) -> None:
        """Say who asks, and take the session that the server gives.

        Raises:
            HttpFailure: it cannot be reached, or refuses.
            AddonFailure: `addon-answer`, it does not speak MCP.
        """
        told = {"protocolVersion": PROTOCOL, "capabilities": {},
                "clientInfo": {"name": "bbops", "version": "1"}}  # fmt: skip
        found = await self.ask("initialize", told, repeats=True)
        version = text_at(found, "protocolVersion") or PROTOCOL
        self.headers["mcp-protocol-version"] = version[:40]
        sent = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        await self._send(write_json(sent), repeats=True)

    async def find(self, name: str) -> Mapping[str, Any] | None:
        """Return the definition of a tool; None where the server has none of this name."""
        return next((one for one in await self.tools() if one.get("name") == name), None)

    async def tools(self) -> list[Mapping[str, Any]]:
        """Return the definitions of all tools."""
        found, cursor = list[Mapping[str, Any]](), None
        for _ in range(MOST_PAGES):
            page = await self.ask("tools/list", {"cursor": cursor} if cursor else {}, repeats=True)
            tools = page.get("tools") if isinstance(page, dict) else None
            found += [one for one in tools or () if isinstance(one, dict)]
            cursor = text_at(page, "nextCursor")
            if cursor is None:
                break
        return found

    async def ask(self, method: str, params: Mapping[str, Any], *, repeats: bool) -> Any:
        """Return the result of a request.

        Raises:
            HttpFailure: there is none, or an error.
        """
        self.count += 1
        sent = {"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}
        answer = await self._send(write_json(sent), repeats=repeats)
        found = _message(answer, self.count)
        error = found.get("error")
        if error is not None:
            code = error.get("code") if isinstance(error, dict) else None
            reason = str(code) if type(code) is int else None
            raise self._failure(answer, Refusal(text_at(error, "message"), reason, status=400))
        return found.get("result")

    async def close(self) -> None:
        """Let the server forget the session; one that does not take that forgets it by itself."""
        if "mcp-session-id" in self.headers:
            request = self.request("DELETE", self.url, self.headers, b"")
            with suppress(HttpFailure):
                await send(self.http, request, repeats=True)

    async def _send(self, body: bytes, *, repeats: bool) -> HttpResponse:
        headers = {"accept": _ACCEPT, "content-type": "application/json", **self.headers}
        request = self.request("POST", self.url, headers, body)
        answer = await send(self.http, request, repeats=repeats)
        if answer.status not in GOOD:
            error = (read_json(answer) or {}) if answer.body else {}
            said = text_at(error, "error", "message") or text_at(error, "error_description")
            raise self._failure(answer, Refusal(said), repeats=repeats)
        session = answer.headers.get("mcp-session-id")
        if session is not None and session.isascii() and session.isprintable():
            self.headers["mcp-session-id"] = session
        return answer

    def _failure(
        self, answer: HttpResponse, refusal: Refusal, *, repeats: bool = False
    ) -> HttpFailure:
        return failure_of(self.url, answer, self.now(), refusal, repeats=repeats)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that was chosen, and the digest of what it said then."""

    work: Work
    url: str
    headers: Mapping[str, str]
    credentials: Credentials
    name: str
    digest: str

    async def call(self, arguments: Mapping[str, Any]) -> Any:
        """Return what the tool gives: its structured result, else `{content: text}`.

        Raises:
            AddonFailure: `addon-changed`, its definition is another one by now.
            HttpFailure: it cannot be asked, or fails.
        """
        answer = await self.work.together(lambda http: self._ask(http, arguments))
        return _result(self.work, self.url, answer, read_json(answer))

    async def _ask(self, http: Http, arguments: Mapping[str, Any]) -> HttpResponse:
        headers = {**self.headers, **await self.credentials.headers(self.work, http)}
        work = self.work
        session = Session(http, self.url, headers, work.request, work.host.clock.now)
        await session.open()
        tool = await session.find(self.name)
        if tool is None or digest_of(tool) != self.digest:
            what = "is gone" if tool is None else "has another definition than when it was chosen"
            raise AddonFailure(
                "addon-changed",
                f"tool '{self.name}' of addon '{self.work.addon}' {what}: import it again",
            )
        told = {"name": self.name, "arguments": arguments}
        found = await session.ask("tools/call", told, repeats=self.work.terms.repeats)
        await session.close()
        return HttpResponse(200, {}, write_json(found))


async def check_tools(
    work: Work, url: str, headers: Mapping[str, str], credentials: Credentials,
    chosen: Sequence[Sequence[str]],
) -> str:  # fmt: skip
    """Return how many tools are still what they were; fail by the first that is not.

    Args:
        chosen: name and digest of each tool.

    Raises:
        AddonFailure: `addon-changed`, a tool is gone or has another definition.
        HttpFailure: the server cannot be asked.
    """

    async def ask(http: Http) -> HttpResponse:
        whole = {**headers, **await credentials.headers(work, http)}
        session = Session(http, url, whole, work.request, work.host.clock.now)
        await session.open()
        tools = await session.tools()
        await session.close()
        return HttpResponse(200, {}, write_json(tools))

    found = read_json(await work.together(ask))
    digests = {str(one.get("name")): digest_of(one) for one in found}
    for name, digest in chosen:
        if digests.get(name) != digest:
            message = f"tool '{name}' is not the one that was chosen: import it again"
            raise AddonFailure("addon-changed", message)
    return f"a client of {len(digests)} tools"


def _message(answer: HttpResponse, number: int) -> Mapping[str, Any]:
    """Return the response to a request, from JSON or a stream of events.

    Raises:
        AddonFailure: `addon-answer`, there is none.
    """
    kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "text/event-stream":
        messages = [_decoded(one) for one in _events(answer.body)]
    else:
        messages = [read_json(answer)]
    for one in messages:
        if isinstance(one, dict) and one.get("id") == number and "method" not in one:
            return one
    raise AddonFailure("addon-answer", "the MCP server returned no response to the request")


def _events(body: bytes) -> list[bytes]:
    """Return the data of each event."""
    found, data = list[bytes](), list[bytes]()
    for line in [*body.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"), b""]:
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            found.append(b"\n".join(data))
            data = []
    return found


def _decoded(data: bytes) -> Any:
    return read_json(HttpResponse(200, {}, data))


def _result(work: Work, url: str, answer: HttpResponse, found: Any) -> Any:
    if not isinstance(found, dict):
        raise AddonFailure("addon-answer", "the MCP server returned no result")
    text = _text(found.get("content"))
    if found.get("isError"):
        raise work.failure(url, answer, Refusal(text[:MOST_WORDS], "toolError", status=422))
    structured = found.get("structuredContent")
    return {"content": text} if structured is None else structured


def _text(content: Any) -> str:
    parts = content if isinstance(content, list) else []
    return "\n".join(text_at(one, "text") or "" for one in parts)[:MOST_TEXT]
