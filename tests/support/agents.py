"""An agent for tests: asks a control plane over MCP, as nobody or by a grant."""

from __future__ import annotations

from typing import Any

import httpx

from bbops_server.accounts.rules import GrantScope
from tests.support import granting
from tests.support.control import URL, Tried

MCP = f"{URL}/mcp"
BOTH = "application/json, text/event-stream"
NEWEST = "2026-07-28"
HEADERS = {"accept": BOTH, "content-type": "application/json"}


def give(tried: Tried, email: str, *scopes: GrantScope, resource: str = MCP) -> str:
    """Return the access token of a new grant."""
    person = tried.book.people.get(email)
    assert person is not None
    return granting.give(tried.book, person, *scopes, resource=resource)


class Agent:
    """Speaks the protocol before 2026, or the newest one where it is told to."""

    def __init__(self, tried: Tried, token: str = "", path: str = "/mcp") -> None:
        self._tried, self.path = tried, path
        self.headers = HEADERS | ({"authorization": f"Bearer {token}"} if token else {})

    def send(self, body: Any, *, method: str = "POST", **headers: str) -> httpx.Response:
        given = {k.replace("_", "-"): v for k, v in headers.items()}
        sent = {name: text for name, text in (self.headers | given).items() if text}
        content = {"content": body} if isinstance(body, bytes) else {"json": body}
        return self._tried.browser().call(method, self.path, headers=sent, **content)

    def ask(self, method: str, params: Any = None, **headers: str) -> httpx.Response:
        return self.send(message(method, params), **headers)

    def call(self, tool: str, arguments: Any = None, **headers: str) -> httpx.Response:
        return self.ask("tools/call", {"name": tool, "arguments": arguments or {}}, **headers)

    def call_newest(self, tool: str, arguments: Any = None) -> httpx.Response:
        """Call a tool in the newest protocol."""
        params, headers = call_of(tool, arguments or {}, NEWEST)
        return self.ask("tools/call", params, **headers)

    def result(self, tool: str, arguments: Any = None) -> dict[str, Any]:
        """Return the structure that a tool gives."""
        answer = self.call(tool, arguments)
        assert answer.status_code == 200, answer.text
        result = answer.json()["result"]
        assert not result["isError"], result["content"]
        found: dict[str, Any] = result["structuredContent"]
        return found

    def refusal(self, tool: str, arguments: Any = None) -> str:
        """Return the words of a tool that could not do it."""
        result = self.call(tool, arguments).json()["result"]
        assert result["isError"], result
        text: str = result["content"][0]["text"]
        return text


def call_of(tool: str, arguments: Any, version: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the parameters and the headers of a call in a protocol."""
    params, headers = {"name": tool, "arguments": arguments}, {"mcp-protocol-version": version}
    if version < NEWEST:
        return params, headers
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return params | {"_meta": meta}, headers | {"mcp-method": "tools/call", "mcp-name": tool}


def message(method: str, params: Any = None, id_: Any = 1) -> dict[str, Any]:
    found = {"jsonrpc": "2.0", "id": id_, "method": method}
    return found if params is None else found | {"params": params}
