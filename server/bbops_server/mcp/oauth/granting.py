"""Grants: a code, a refresh token, a device. They extend Authlib's by stricter checks.

Tokens are stored in the transaction that spends the code, so one of several requests gets them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from authlib.oauth2.rfc6749 import BaseGrant, OAuth2Error, grants
from authlib.oauth2.rfc6749.errors import AccessDeniedError, InvalidGrantError, InvalidRequestError
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc8628 import (
    AuthorizationPendingError,
    DeviceCodeGrant,
    ExpiredTokenError,
    SlowDownError,
)

from bbops_server.accounts.book import Book
from bbops_server.accounts.grants import write_scopes
from bbops_server.accounts.issuing import ACCESS_LASTS, Held, Issued, make_tokens
from bbops_server.accounts.logins import Device
from bbops_server.mcp.oauth.authlib_request import OAuthRequest
from bbops_server.mcp.oauth.client import Client

_PUBLIC: Final = ["none"]
_CHALLENGE_LENGTH: Final = 43
"""The length of a SHA-256 in Base64."""


class InvalidTarget(OAuth2Error):
    """The resource of a request does not belong to this server, or differs (RFC 8707)."""

    error = "invalid_target"


def make_answer(scope: str, include_refresh_token: bool, **_: Any) -> dict[str, Any]:
    """Return a response with new tokens."""
    issued = make_tokens(scope, with_refresh=include_refresh_token)
    answer: dict[str, Any] = {
        "access_token": issued.access, "token_type": "Bearer",
        "expires_in": int(ACCESS_LASTS.total_seconds()), "scope": issued.scopes,
    }  # fmt: skip
    return answer | ({"refresh_token": issued.refresh} if issued.refresh else {})


def _issued(answer: dict[str, Any]) -> Issued:
    return Issued(answer["access_token"], answer.get("refresh_token", ""), answer["scope"])


def check_resource(asked: OAuthRequest, resource: str) -> None:
    """Check that a request is for the approved resource.

    Raises:
        InvalidTarget: it is for another one.
    """
    named = asked.payload.datalist["resource"]
    if any(uri.rstrip("/") != resource for uri in named):
        raise InvalidTarget("this was approved for another resource")


@dataclass(frozen=True, slots=True)
class _Key:
    """A code or a refresh token in the form of Authlib."""

    held: Held
    code_challenge_method: str = "S256"

    @property
    def code_challenge(self) -> str:
        return self.held.challenge

    def get_redirect_uri(self) -> str:
        return self.held.redirect_uri

    def get_scope(self) -> str:
        return self.held.scopes

    def check_client(self, client: Client) -> bool:
        return self.held.client == client.id


class _Booked:
    TOKEN_ENDPOINT_AUTH_METHODS = _PUBLIC
    request: OAuthRequest
    server: Any

    @property
    def book(self) -> Book:
        book: Book = self.server.book
        return book

    def authenticate_user(self, key: _Key) -> str:
        """Return the user's grant, which ends when the user is disabled."""
        return key.held.grant


class OnlyS256(CodeChallenge):
    """PKCE, which makes stolen codes useless: required, and only with SHA-256."""

    SUPPORTED_CODE_CHALLENGE_METHOD = ["S256"]

    def validate_code_challenge(self, grant: BaseGrant, redirect_uri: str) -> None:
        """Refuse requests without PKCE. Raises: InvalidRequestError."""
        challenge = grant.request.get("code_challenge")
        if (
            grant.request.get("code_challenge_method") != "S256"
            or len(challenge) != _CHALLENGE_LENGTH
        ):
            raise InvalidRequestError("code_challenge with code_challenge_method=S256 is required")
        super().validate_code_challenge(grant, redirect_uri)


class CodeGrant(_Booked, grants.AuthorizationCodeGrant):
    """Tokens for a code that was sent through a browser."""

    @staticmethod
    def validate_authorization_redirect_uri(request: OAuthRequest, client: Client) -> str:
        """Return the redirect URI. Raises: InvalidRequestError: it is not registered."""
        redirect_uri = request.get("redirect_uri")
        if not client.check_redirect_uri(redirect_uri):
            raise InvalidRequestError("redirect_uri is not registered for this client")
        return redirect_uri

    def query_authorization_code(self, code: str, client: Client) -> _Key | None:
        """Return the approval of a client's code."""
        held = self.book.issuing.find_code(code)
        return _Key(held) if held is not None and held.client == client.id else None

    def validate_token_request(self) -> None:
        """Check a request for tokens. Raises: OAuth2Error."""
        super().validate_token_request()
        check_resource(self.request, self.request.authorization_code.held.resource)

    def save_token(self, token: dict[str, Any]) -> None:
        """Store the tokens. Raises: InvalidGrantError: the code has been used meanwhile."""
        held = self.request.authorization_code.held
        if not self.book.issuing.redeem_code(held, _issued(token)):
            raise InvalidGrantError

    def delete_authorization_code(self, authorization_code: _Key) -> None:
        """Do nothing: it was spent when the tokens were stored."""


class RefreshGrant(_Booked, grants.RefreshTokenGrant):
    """New tokens for a refresh token, which is then invalid."""

    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, refresh_token: str) -> _Key | None:
        """Return the grant of a refresh token."""
        held = self.book.issuing.find_refresh(refresh_token)
        return None if held is None else _Key(held)

    def validate_token_request(self) -> None:
        """Check a request for tokens. Raises: OAuth2Error."""
        super().validate_token_request()
        check_resource(self.request, self.request.refresh_token.held.resource)

    def save_token(self, token: dict[str, Any]) -> None:
        """Store the tokens."""
        self.book.issuing.rotate(self.request.refresh_token.held, _issued(token))

    def revoke_old_credential(self, refresh_token: _Key) -> None:
        """Do nothing: it was spent when the tokens were stored."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A device in the form of Authlib."""

    device: Device

    def get_client_id(self) -> str:
        return self.device.wish.client

    def get_scope(self) -> str:
        return write_scopes(self.device.wish.scopes)


class DeviceGrant(_Booked, DeviceCodeGrant):
    """Tokens for a device whose code a user has entered."""

    TOKEN_ENDPOINT_AUTH_METHODS = _PUBLIC

    def query_device_credential(self, device_code: str) -> _Waiting:
        """Return the device. Raises: InvalidGrantError: there is none."""
        device = self.book.devices.look(device_code)
        if device is None or device.outcome == "used":
            raise InvalidGrantError
        return _Waiting(device)

    def validate_device_credential(self, credential: _Waiting) -> str:
        """Return the grant of a device. Raises: OAuth2Error: it has none, or none yet."""
        device = credential.device
        check_resource(self.request, device.wish.resource)
        if device.outcome == "denied":
            raise AccessDeniedError
        if device.is_over:
            raise ExpiredTokenError
        if device.outcome == "approved":
            return device.grant
        raise SlowDownError if self.book.devices.is_hasty(device) else AuthorizationPendingError

    def save_token(self, token: dict[str, Any]) -> None:
        """Store the tokens. Raises: InvalidGrantError: the device has tokens already."""
        if not self.book.devices.redeem(self.request.credential.device, _issued(token)):
            raise InvalidGrantError


ALL: Final[tuple[tuple[type[BaseGrant], list[OnlyS256]], ...]] = (
    (CodeGrant, [OnlyS256()]),
    (RefreshGrant, []),
    (DeviceGrant, []),
)
