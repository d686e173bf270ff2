"""Report which clients of a workspace are configured for a server, and whether it responds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from bbops.base.errors import BbopsError
from bbops.interfaces.mcp.clients._base import McpClient
from bbops.interfaces.mcp.installing.files import read_content, read_entry
from bbops.interfaces.mcp.installing.probe import ProbeResult, probe
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
