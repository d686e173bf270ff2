"""Say whether an MCP server can be reached, what it speaks, and where its people sign in."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import msgspec

from bbops.base.addresses import check_address, is_here, is_https
from bbops.interfaces.client.project_api import reason_of

_SECONDS: Final = 10.0
_PROTOCOL: Final = "2025-11-25"


class Reached(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What is found at an address; `reason` says why nothing is.

    One that answers nobody without a sign-in tells neither its protocol nor its version.
    """

    reachable: bool
    protocol_version: str = ""
    server: str = ""
    sign_in: str = ""
    reason: str = ""


def reach(url: str) -> Reached:
    """Begin a conversation with an MCP server, without a token, and end it.

    Raises:
        ServerError: this is no address.
    """
    check_address(url)
    headers = {"accept": "application/json, text/event-stream"}
    try:
        with httpx.Client(
            timeout=_SECONDS, headers=headers, trust_env=not is_here(url), verify=is_https(url)
        ) as client:
            told = _ask(client, url)
            return Reached(
                reachable=True, protocol_version=_text(told, "protocolVersion"),
                server=_text(told.get("serverInfo"), "version"), sign_in=_sign_in(client, url),
            )  # fmt: skip
    except httpx.TransportError as error:
        return Reached(reachable=False, reason=reason_of(error))
    except (httpx.DecodingError, ValueError) as error:
        return Reached(reachable=False, reason=str(error))


def _ask(client: httpx.Client, url: str) -> dict[str, Any]:
    params = {
        "protocolVersion": _PROTOCOL, "capabilities": {},
        "clientInfo": {"name": "bbops", "version": "1"},
    }  # fmt: skip
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    answer = client.post(url, json=body)
    if answer.status_code == 401 and "www-authenticate" in answer.headers:
        return {}
    if answer.status_code != 200:
        raise ValueError(f"it answered {answer.status_code}, expected 200")
    found = answer.json()
    if not isinstance(found, dict) or not isinstance(found.get("result"), dict):
        raise ValueError("the server at this URL does not speak MCP")  # noqa: TRY004 - of its bytes
    result: dict[str, Any] = found["result"]
    return result


def _sign_in(client: httpx.Client, url: str) -> str:
    """Return the authorization server that the resource names; empty for none."""
    parts = urlsplit(url)
    place = f"{parts.scheme}://{parts.netloc}/.well-known/oauth-protected-resource{parts.path}"
    answer = client.get(place)
    servers = answer.json().get("authorization_servers") if answer.status_code == 200 else None
    return str(servers[0]) if isinstance(servers, list) and servers else ""


def _text(of: Any, name: str) -> str:
    return str(of.get(name, "")) if isinstance(of, dict) else ""
