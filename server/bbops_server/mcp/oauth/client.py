"""What a client says of itself, checked: the same in a registration and in a document.

All clients are public: they have no secret, so the codes they are given hold by PKCE alone.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from authlib.oauth2.rfc6749 import ClientMixin

from bbops_server.accounts.errors import AccountError
from bbops_server.accounts.rules import GrantScope
from bbops_server.accounts.text_rules import tidy_text
from bbops_server.mcp.oauth.endpoints import GRANT_TYPES
from bbops_server.mcp.oauth.redirects import allows, is_registrable

MOST_REDIRECTS: Final = 10
_BOTH: Final = ("authorization_code", "refresh_token")


class OddClient(Exception):
    """What a client says of itself cannot be used; `error` is as RFC 7591 names it."""

    def __init__(self, description: str, error: str = "invalid_client_metadata") -> None:
        super().__init__(description)
        self.description, self.error = description, error


class Metadata(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is kept of it. Logos and links are not: nothing of them would be shown."""

    client_name: str = ""
    redirect_uris: tuple[str, ...] = ()
    grant_types: tuple[str, ...] = _BOTH
    scope: str = ""


class Client(ClientMixin):
    """A client as the grants of Authlib ask for it."""

    def __init__(self, id: str, metadata: Metadata) -> None:  # noqa: A002
        self.id, self.metadata = id, metadata

    @property
    def name(self) -> str:
        """What it calls itself."""
        return self.metadata.client_name or "unnamed client"

    def get_client_id(self) -> str:
        """Return its id."""
        return self.id

    def get_default_redirect_uri(self) -> None:
        """Return nothing: a client says each time where its answer goes."""

    def get_allowed_scope(self, scope: str | None) -> str | None:
        """Return the known ones of some scopes, None when there are none.

        What it registered with is no bound: that is what it first needed, and it may need more.
        """
        wanted = (scope or GrantScope.PROJECT).split()
        return " ".join(one for one in GrantScope if one in wanted) or None

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        """Return whether an answer may go there."""
        return allows(self.metadata.redirect_uris, redirect_uri)

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:  # noqa: ARG002
        """Return whether it is known so: by its id alone."""
        return method == "none"

    def check_response_type(self, response_type: str) -> bool:
        """Return whether it may ask for that in a browser."""
        return response_type == "code" and self.check_grant_type("authorization_code")

    def check_grant_type(self, grant_type: str) -> bool:
        """Return whether it may get tokens that way."""
        return grant_type in self.metadata.grant_types


def read_metadata(given: Any) -> Metadata:
    """Return what a client says of itself.

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
    grants = tuple(one for one in GRANT_TYPES if one in found.grant_types)
    _check_redirects(found.redirect_uris, is_needed="authorization_code" in grants)
    scope = " ".join(one for one in GrantScope if one in found.scope.split())
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
    """Return what a client is told that it is registered as; no member is null."""
    found = client.metadata
    told = {
        "client_id": client.id,
        "client_name": found.client_name,
        "redirect_uris": list(found.redirect_uris),
        "grant_types": list(found.grant_types),
        "response_types": ["code"] if "authorization_code" in found.grant_types else [],
        "token_endpoint_auth_method": "none",
        "scope": found.scope,
    }
    return {name: value for name, value in told.items() if value not in ("", [])}
