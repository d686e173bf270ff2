"""What an OpenAPI document says of an API as a whole: where it is, how it is told who asks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

from bbops.edit.importing.document import Document, Refused, one_line

_VARIABLE: Final = re.compile(r"\{([^{}]*)\}")
_ADDRESS: Final = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]+(/[^?#\s$]*)?").fullmatch
_HEADER: Final = re.compile(r"[A-Za-z0-9-]{1,100}").fullmatch
_TOKEN_URL: Final = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]+/[^?#\s@$]*").fullmatch
_RANK: Final = ("bearer", "clientCredentials", "header", "basic", "query")
"""A key in an address ends up in logs; a name and password are more than one token."""
Auth = dict[str, Any]


def find_server(document: Document, given: str, where: str) -> str:
    """Return where the API is.

    Args:
        given: what the user says; empty where the document is to say it.
        where: the address of the document, against which a relative one counts.

    Raises:
        Refused: nobody says it, or it is none that a step can ask.
    """
    servers = document.at(("servers",))
    first = servers[0] if isinstance(servers, list) and servers else {}
    told = given or (first.get("url") if isinstance(first, Mapping) else None) or ""
    if not isinstance(told, str):
        told = ""
    variables = first.get("variables") if isinstance(first, Mapping) and not given else {}
    told = _VARIABLE.sub(lambda match: _default(variables, match[1]), told)
    if not urlsplit_safe(told) and where.startswith(("https://", "http://")):
        told = urljoin(where, told)
    told = told.rstrip("/")
    if not told.startswith(("https://", "http://")):
        hint = "give it with --server https://api.example.com"
        raise Refused("the document does not say where the API is", hint=hint)
    if not _ADDRESS(told) or len(told) > 500:
        hint = "give it with --server https://api.example.com"
        raise Refused(f"'{one_line(told, 100)}' is not the address of an API", hint=hint)
    return told


def urlsplit_safe(text: str) -> bool:
    """Return whether a text begins with a scheme of its own."""
    try:
        return bool(urlsplit(text).scheme)
    except ValueError:
        return True


def _default(variables: Any, name: str) -> str:
    one = variables.get(name) if isinstance(variables, Mapping) else None
    found = one.get("default") if isinstance(one, Mapping) else None
    if not isinstance(found, str):
        hint = "give the whole address with --server"
        raise Refused(f"the address has '{{{one_line(name, 40)}}}' without a default", hint=hint)
    return found


def find_auth(document: Document) -> Auth:
    """Return the best way that an addon knows: of those that the document wants everywhere first.

    Empty where the API asks for nothing that can be said.
    """
    names = document.keys(("components", "securitySchemes"))[:100]
    wanted = document.at(("security",))
    first = [
        name for one in (wanted if isinstance(wanted, list) else ()) if isinstance(one, Mapping)
        for name in one
    ]  # fmt: skip
    for group in ([one for one in first if one in names], names):
        ways = [way for name in dict.fromkeys(group) if (way := _way(document, name))]
        if ways:
            return min(ways, key=lambda way: _RANK.index(next(iter(way))))
    return {}


def _way(document: Document, name: str) -> Auth:
    one, _ = document.follow(document.at(("components", "securitySchemes", name)))
    if not isinstance(one, Mapping):
        return {}
    kind, scheme = one.get("type"), str(one.get("scheme", "")).lower()
    if kind == "http" and scheme in {"bearer", "basic"}:
        return {"bearer": "token"} if scheme == "bearer" else {"basic": ["username", "password"]}
    if kind == "apiKey" and one.get("in") in {"header", "query"}:
        return _key(str(one["in"]), str(one.get("name", "")))
    if kind == "oauth2":
        flows = one.get("flows")
        told = flows.get("clientCredentials") if isinstance(flows, Mapping) else None
        url = told.get("tokenUrl") if isinstance(told, Mapping) else None
        if isinstance(url, str) and _TOKEN_URL(url):
            return {"clientCredentials": {"tokenUrl": url}}
        return {"bearer": "token"}
    return {"bearer": "token"} if kind == "openIdConnect" else {}


def _key(place: str, name: str) -> Auth:
    if place == "header" and name.lower() == "authorization":
        return {"bearer": "token"}
    is_right = _HEADER(name) if place == "header" else 0 < len(name) <= 100 and name.isprintable()
    return {place: {name: "apiKey"}} if is_right else {}


def settings_of(auth: Auth) -> list[str]:
    """Return the settings that a way needs."""
    if "clientCredentials" in auth:
        return ["clientId", "clientSecret"]
    (told,) = auth.values() if auth else ([],)
    if isinstance(told, str):
        return [told]
    return [*told.values()] if isinstance(told, dict) else [*told]
