"""The metadata of a client, checked in the same way in a registration and in a document.

All clients are public: without a secret, only PKCE protects their codes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

import msgspec
from authlib.oauth2.rfc6749 import ClientMixin

from bbops.base.addresses import split
from bbops.base.host import HttpRequest
from bbops.runtime.values.failures import HttpFailure
from bbops_server.accounts.rules import GrantScope
from bbops_server.accounts.tables import CLIENT_LENGTH
from bbops_server.accounts.text_rules import AccountError, tidy_text
from bbops_server.mcp.oauth.endpoints import GRANT_TYPES
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.process.host.http import OutsideHttp

MOST_REDIRECTS: Final = 10
_BOTH: Final = ("authorization_code", "refresh_token")


class OddClient(Exception):
    """The metadata of a client cannot be used; `error` is a code of RFC 7591."""

    def __init__(self, description: str, error: str = "invalid_client_metadata") -> None:
        super().__init__(description)
        self.description, self.error = description, error


class Metadata(msgspec.Struct, frozen=True, omit_defaults=True):
    """The stored metadata of a client, without logos and links, which are never shown."""

    client_name: str = ""
    redirect_uris: tuple[str, ...] = ()
    grant_types: tuple[str, ...] = _BOTH
    scope: str = ""


class Client(ClientMixin):
    """A client in the form of Authlib."""

    def __init__(self, id: str, metadata: Metadata) -> None:  # noqa: A002
        self.id, self.metadata = id, metadata

    @property
    def name(self) -> str:
        """The name that the client has given."""
        return self.metadata.client_name or "unnamed client"

    def get_client_id(self) -> str:
        """Return the id."""
        return self.id

    def get_default_redirect_uri(self) -> None:
        """Return None: each request of a client has a redirect URI."""

    def get_allowed_scope(self, scope: str | None) -> str | None:
        """Return the known scopes among these; None if none is known.

        The scopes of the registration do not limit a client: it may need more later.
        """
        wanted = (scope or GrantScope.PROJECT).split()
        return " ".join(known for known in GrantScope if known in wanted) or None

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        """Return whether a response may be sent to an address."""
        return allows(self.metadata.redirect_uris, redirect_uri)

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:  # noqa: ARG002
        """Return whether a method is supported: only clients without a secret are."""
        return method == "none"

    def check_response_type(self, response_type: str) -> bool:
        """Return whether the client may use a response type."""
        return response_type == "code" and self.check_grant_type("authorization_code")

    def check_grant_type(self, grant_type: str) -> bool:
        """Return whether the client may use a grant type."""
        return grant_type in self.metadata.grant_types


def read_metadata(given: Any) -> Metadata:
    """Return the checked metadata of a client.

    Raises:
        OddClient: it cannot be used.
    """
    if not isinstance(given, dict):
        raise OddClient("expected a JSON object")
    known = {name: value for name, value in given.items() if value not in (None, "")}
    try:
        found = msgspec.convert(known, Metadata)
        name = tidy_text(found.client_name, "client_name")
    except msgspec.ValidationError as error:
        raise OddClient(str(error)) from None
    except AccountError as error:
        raise OddClient(error.message) from None
    grants = tuple(known for known in GRANT_TYPES if known in found.grant_types)
    _check_redirects(found.redirect_uris, is_needed="authorization_code" in grants)
    scope = " ".join(known for known in GrantScope if known in found.scope.split())
    return Metadata(name, found.redirect_uris, grants or _BOTH[:1], scope)


def _check_redirects(uris: tuple[str, ...], *, is_needed: bool) -> None:
    wrong = "invalid_redirect_uri"
    if is_needed and not uris:
        raise OddClient("redirect_uris is missing", wrong)
    if len(uris) > MOST_REDIRECTS or not all(map(is_registrable, uris)):
        raise OddClient(
            f"redirect_uris must be at most {MOST_REDIRECTS} absolute URLs with https, http on"
            " localhost, or a private-use scheme, without a fragment, user name or wildcard",
            wrong,
        )


def describe(client: Client) -> dict[str, Any]:
    """Return the registration of a client, without empty members."""
    found = client.metadata
    members = {
        "client_id": client.id,
        "client_name": found.client_name,
        "redirect_uris": list(found.redirect_uris),
        "grant_types": list(found.grant_types),
        "response_types": ["code"] if "authorization_code" in found.grant_types else [],
        "token_endpoint_auth_method": "none",
        "scope": found.scope,
    }
    return {name: value for name, value in members.items() if value not in ("", [])}


# ---- The metadata document of a client, at the address that is its id
# A stranger chooses the address, so it is read with limits: by https, only at public addresses,
# without redirects, and a few kilobytes. Source: draft-ietf-oauth-client-id-metadata-document.

MOST_BYTES: Final = 5 << 10
TIMEOUT_SECONDS: Final = 5.0
LASTS: Final = timedelta(hours=1)
_SIGNS: Final = frozenset(map(chr, range(0x21, 0x7F))) - frozenset("\"'<>\\^`{|}#?@*")


def is_document(client_id: str) -> bool:
    """Return whether a client's id is the address of a document."""
    return client_id.startswith("https://")


async def read_document(address: str, egress: EgressPolicy) -> Metadata:
    """Return the metadata in a document.

    Args:
        egress: the addresses that are allowed beside public ones.

    Raises:
        OddClient: it cannot be read, or is not valid.
    """
    if not _is_plain(address):
        raise OddClient("a client_id must be an https URL with a path, and no query or fragment")
    found = await _fetch(address, egress)
    if not isinstance(found, dict) or found.get("client_id") != address:
        raise OddClient("the client metadata document must have that URL as its client_id")
    if found.get("token_endpoint_auth_method", "none") != "none" or "client_secret" in found:
        raise OddClient("only public clients (without a secret) are supported")
    if not found.get("client_name"):
        raise OddClient("the client metadata document must have a client_name")
    return read_metadata(found)


async def _fetch(address: str, egress: EgressPolicy) -> Any:
    http = OutsideHttp(egress, max_body_bytes=MOST_BYTES, max_redirects=0)
    headers = {"accept": "application/json"}
    try:
        answer = await http.send(HttpRequest("GET", address, headers, b"", TIMEOUT_SECONDS))
    except HttpFailure:  # the message does not tell whether a private address responds
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


# ---- The redirect URIs of a client
# They are compared exactly (RFC 9700, section 2.1). Only the port of a program on the user's own
# computer may differ each time (RFC 8252, section 7.3).

MOST_LENGTH: Final = 2_000
_PLAIN: Final = re.compile(r"[!#-)+-;=?-\[\]_a-z~%]+", re.IGNORECASE)
"""The characters of a URI, without `*`."""
_HERE: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_APPS: Final = frozenset({"cursor", "vscode", "vscode-insiders", "windsurf"})
"""Schemes of known programs. Other schemes need a dot: RFC 8252 section 7.1."""


def is_registrable(uri: str) -> bool:
    """Return whether a client may register a redirect URI."""
    parts = _split(uri)
    if parts is None or "#" in uri or parts.username is not None or parts.password is not None:
        return False
    if parts.scheme == "https":
        return bool(parts.hostname)
    if parts.scheme == "http":
        return parts.hostname in _HERE
    return "." in parts.scheme or parts.scheme in _APPS


def allows(registered: Iterable[str], uri: str) -> bool:
    """Return whether a redirect URI matches one of the registered ones."""
    known = tuple(registered)
    return uri in known or (is_here(uri) and any(_is_same_but_port(own, uri) for own in known))


def is_here(uri: str) -> bool:
    """Return whether a URI leads to a program on the user's own computer."""
    parts = _split(uri)
    return parts is not None and parts.scheme == "http" and is_registrable(uri)


def place_of(uri: str) -> str:
    """Return the part of a URI to show: the host, or the scheme of a program."""
    parts = urlsplit(uri)
    return parts.netloc if parts.scheme in {"http", "https"} else f"{parts.scheme}:"


def _is_same_but_port(registered: str, uri: str) -> bool:
    if not is_here(registered):
        return False
    pair = [urlsplit(text) for text in (registered, uri)]
    first, second = ((parts.hostname, parts.path, parts.query) for parts in pair)
    return first == second


def _split(uri: str) -> SplitResult | None:
    if len(uri) > MOST_LENGTH or not _PLAIN.fullmatch(uri):
        return None
    return split(uri)
