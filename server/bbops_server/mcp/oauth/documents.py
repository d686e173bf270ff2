"""Read what a client publishes of itself, at the address that is its id.

Whoever signs in names that address, so it is asked for like any other that a stranger names: by
https, at public addresses alone, without redirects, and a little at a time.
Source: draft-ietf-oauth-client-id-metadata-document.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

import msgspec

from bbops.base.addresses import split
from bbops.base.host import HttpRequest
from bbops.runtime.values.failures import HttpFailure
from bbops_server.accounts.grant_tables import CLIENT_LENGTH
from bbops_server.mcp.oauth.client import Metadata, OddClient, read_metadata
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.process.host.http import OutsideHttp

MOST_BYTES: Final = 5 << 10
TIMEOUT_SECONDS: Final = 5.0
LASTS: Final = timedelta(hours=1)
_SIGNS: Final = frozenset(map(chr, range(0x21, 0x7F))) - frozenset("\"'<>\\^`{|}#?@*")


def is_document(client_id: str) -> bool:
    """Return whether a client's id is the address of a document."""
    return client_id.startswith("https://")


async def read_document(address: str, egress: EgressPolicy) -> Metadata:
    """Return what a document says.

    Args:
        egress: what may be asked beside public addresses.

    Raises:
        OddClient: it cannot be read, or says something else than is agreed.
    """
    if not _is_plain(address):
        raise OddClient("a client_id must be an https URL with a path, and no query or fragment")
    said = await _fetch(address, egress)
    if not isinstance(said, dict) or said.get("client_id") != address:
        raise OddClient("the client metadata document must have that URL as its client_id")
    if said.get("token_endpoint_auth_method", "none") != "none" or "client_secret" in said:
        raise OddClient("only public clients (without a secret) are supported")
    if not said.get("client_name"):
        raise OddClient("the client metadata document must have a client_name")
    return read_metadata(said)


async def _fetch(address: str, egress: EgressPolicy) -> Any:
    http = OutsideHttp(egress, max_body_bytes=MOST_BYTES, max_redirects=0)
    headers = {"accept": "application/json"}
    try:
        answer = await http.send(HttpRequest("GET", address, headers, b"", TIMEOUT_SECONDS))
    except HttpFailure:  # not even whether there is something at a private address is told
        raise _unreadable() from None
    finally:
        await http.close()
    if answer.status != 200:
        raise _unreadable()
    try:
        return msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, RecursionError):
        raise _unreadable() from None


def _unreadable() -> OddClient:
    return OddClient("the client metadata document cannot be read")


def _is_plain(address: str) -> bool:
    if not is_document(address) or len(address) > CLIENT_LENGTH or not _SIGNS.issuperset(address):
        return False
    parts = split(address)
    if parts is None:
        return False
    steps = parts.path.split("/")
    return bool(parts.hostname) and parts.path not in {"", "/"} and not {".", ".."} & set(steps)
