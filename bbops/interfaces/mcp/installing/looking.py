"""Say which clients of a workspace know a server, and whether it answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from bbops.base.errors import BbopsError
from bbops.interfaces.mcp.clients._base import Client
from bbops.interfaces.mcp.installing.files import read_content, read_entry
from bbops.interfaces.mcp.installing.reaching import Reached, reach
from bbops.interfaces.mcp.installing.steps import choose, find_used


def look(workspace: Path, names: Sequence[str], name: str) -> dict[str, Any]:
    """Return `{clients: [{client, title, file, configured, url, reached}]}`.

    Each address is asked once.

    Raises:
        BbopsError: there is no client of a name.
    """
    clients = choose(names, workspace) if names else find_used(workspace)
    known: dict[str, Reached] = {}
    return {"clients": [_client(workspace, at, one, name, known) for at, one in clients.items()]}


def _client(
    workspace: Path, at: str, client: Client, name: str, known: dict[str, Reached]
) -> dict[str, Any]:
    told: dict[str, Any] = {"client": at, "title": client.title, "file": client.file}
    try:
        text = read_content(client.path(workspace))
        entry = read_entry(client, text, name) if text else None
    except BbopsError as error:
        return told | {"configured": False, "url": "", "wrong": error.message}
    url = entry.get(client.address) if isinstance(entry, dict) else None
    if not isinstance(url, str):
        return told | {"configured": False, "url": ""}
    if url not in known:
        try:
            known[url] = reach(url)
        except BbopsError as error:
            known[url] = Reached(reachable=False, reason=error.message)
    return told | {"configured": True, "url": url, "reached": msgspec.to_builtins(known[url])}
