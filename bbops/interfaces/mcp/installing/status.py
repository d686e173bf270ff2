"""Report which clients of a workspace are configured for a server, and whether it responds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import msgspec

from bbops.base.addresses import check_address, is_here, is_https
from bbops.base.errors import BbopsError
from bbops.interfaces.client.connection import reason_of
from bbops.interfaces.mcp.clients import McpClient
from bbops.interfaces.mcp.installing.files import read_content, read_entry
from bbops.interfaces.mcp.installing.steps import choose, find_used


def read_status(workspace: Path, names: Sequence[str], name: str) -> dict[str, Any]:
    """Return `{clients: [{client, title, file, configured, url, reached}]}`.

    Each URL is probed once.

    Raises:
        BbopsError: a name is not the name of a client.
    """
    clients = choose(names, workspace) if names else find_used(workspace)
    probed: dict[str, ProbeResult] = {}
    return {
        "clients": [
            _client(workspace, client_name, client, name, probed)
            for client_name, client in clients.items()
        ]
    }


def _client(
    workspace: Path, client_name: str, client: McpClient, name: str, probed: dict[str, ProbeResult]
) -> dict[str, Any]:
    status: dict[str, Any] = {"client": client_name, "title": client.title, "file": client.file}
    try:
        text = read_content(client.path(workspace))
        entry = read_entry(client, text, name) if text else None
    except BbopsError as error:
        return status | {"configured": False, "url": "", "wrong": error.message}
    url = entry.get(client.address) if isinstance(entry, dict) else None
    if not isinstance(url, str):
        return status | {"configured": False, "url": ""}
    if url not in probed:
        try:
            probed[url] = probe(url)
        except BbopsError as error:
            probed[url] = ProbeResult(reachable=False, reason=error.message)
    return status | {"configured": True, "url": url, "reached": msgspec.to_builtins(probed[url])}


# ---- Probe an MCP server: its protocol, its version and its authorization server

_SECONDS: Final = 10.0
_PROTOCOL: Final = "2025-11-25"


class ProbeResult(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The result of a probe; `reason` is set if the server cannot be reached.

    A server that requires a sign-in does not reveal its protocol and version.
    """

    reachable: bool
    protocol_version: str = ""
    server: str = ""
    sign_in: str = ""
    reason: str = ""


def probe(url: str) -> ProbeResult:
    """Initialize an MCP connection without a token, and close it.

    Raises:
        ServerError: the URL is not valid.
    """
    check_address(url)
    headers = {"accept": "application/json, text/event-stream"}
    try:
        with httpx.Client(
            timeout=_SECONDS, headers=headers, trust_env=not is_here(url), verify=is_https(url)
        ) as client:
            result = _initialize(client, url)
            return ProbeResult(
                reachable=True, protocol_version=_text(result, "protocolVersion"),
                server=_text(result.get("serverInfo"), "version"), sign_in=_sign_in(client, url),
            )  # fmt: skip
    except httpx.TransportError as error:
        return ProbeResult(reachable=False, reason=reason_of(error))
    except (httpx.DecodingError, ValueError) as error:
        return ProbeResult(reachable=False, reason=str(error))


def _initialize(client: httpx.Client, url: str) -> dict[str, Any]:
    params = {
        "protocolVersion": _PROTOCOL, "capabilities": {},
        "clientInfo": {"name": "bbops", "version": "1"},
    }  # fmt: skip
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    response = client.post(url, json=body)
    if response.status_code == 401 and "www-authenticate" in response.headers:
        return {}
    if response.status_code != 200:
        raise ValueError(f"it answered {response.status_code}, expected 200")
    message = response.json()
    if not isinstance(message, dict) or not isinstance(message.get("result"), dict):
        raise ValueError("the server at this URL does not speak MCP")  # noqa: TRY004 - of its bytes
    result: dict[str, Any] = message["result"]
    return result


def _sign_in(client: httpx.Client, url: str) -> str:
    """Return the authorization server of the resource; empty without one."""
    parts = urlsplit(url)
    metadata_url = (
        f"{parts.scheme}://{parts.netloc}/.well-known/oauth-protected-resource{parts.path}"
    )
    response = client.get(metadata_url)
    servers = response.json().get("authorization_servers") if response.status_code == 200 else None
    return str(servers[0]) if isinstance(servers, list) and servers else ""


def _text(value: Any, name: str) -> str:
    return str(value.get(name, "")) if isinstance(value, dict) else ""
