"""The ways to tokens: a code, a refresh token, a device. Each is as Authlib has it, but stricter.

What is kept is kept in one transaction, so that of several who use one key one gets tokens.
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
from bbops_server.mcp.oauth.authlib_request import Asked
from bbops_server.mcp.oauth.client import Client

_PUBLIC: Final = ["none"]
_CHALLENGE_LENGTH: Final = 43
"""Of a SHA-256 in Base64."""


class InvalidTarget(OAuth2Error):
    """The address that tokens are wanted for is none of ours, or another one (RFC 8707)."""

    error = "invalid_target"


def make_answer(scope: str, include_refresh_token: bool, **_: Any) -> dict[str, Any]:
    """Return new tokens as a client is told of them."""
    issued = make_tokens(scope, with_refresh=include_refresh_token)
    told: dict[str, Any] = {
        "access_token": issued.access, "token_type": "Bearer",
        "expires_in": int(ACCESS_LASTS.total_seconds()), "scope": issued.scopes,
    }  # fmt: skip
    return told | ({"refresh_token": issued.refresh} if issued.refresh else {})


def _issued(answer: dict[str, Any]) -> Issued:
    return Issued(answer["access_token"], answer.get("refresh_token", ""), answer["scope"])


def check_resource(asked: Asked, resource: str) -> None:
    """Refuse to give tokens for another address than was approved.

    Raises:
        InvalidTarget: another one is named.
    """
    named = asked.payload.datalist["resource"]
    if any(one.rstrip("/") != resource for one in named):
        raise InvalidTarget("this was approved for another resource")


@dataclass(frozen=True, slots=True)
class _Key:
    """A code or a refresh token, as Authlib asks for it."""

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
    request: Asked
    server: Any

    @property
    def book(self) -> Book:
        book: Book = self.server.book
        return book

    def authenticate_user(self, key: _Key) -> str:
        """Return what stands for the person: their grant, which ends when they are kept out."""
        return key.held.grant


class OnlyS256(CodeChallenge):
    """PKCE, with which a stolen code is worth nothing; it cannot be left out or weakened."""

    SUPPORTED_CODE_CHALLENGE_METHOD = ["S256"]

    def validate_code_challenge(self, grant: BaseGrant, redirect_uri: str) -> None:
        """Refuse a request without it. Raises: InvalidRequestError."""
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
    def validate_authorization_redirect_uri(request: Asked, client: Client) -> str:
        """Return where the answer goes. Raises: InvalidRequestError: it may not go there."""
        redirect_uri = request.get("redirect_uri")
        if not client.check_redirect_uri(redirect_uri):
            raise InvalidRequestError("redirect_uri is not registered for this client")
        return redirect_uri

    def query_authorization_code(self, code: str, client: Client) -> _Key | None:
        """Return what a client's code stands for."""
        held = self.book.issuing.find_code(code)
        return _Key(held) if held is not None and held.client == client.id else None

    def validate_token_request(self) -> None:
        """Check a request for tokens. Raises: OAuth2Error."""
        super().validate_token_request()
        check_resource(self.request, self.request.authorization_code.held.resource)

    def save_token(self, token: dict[str, Any]) -> None:
        """Keep the tokens. Raises: InvalidGrantError: the code has ended meanwhile."""
        held = self.request.authorization_code.held
        if not self.book.issuing.redeem_code(held, _issued(token)):
            raise InvalidGrantError

    def delete_authorization_code(self, authorization_code: _Key) -> None:
        """Do nothing: it was spent when its tokens were kept."""


class RefreshGrant(_Booked, grants.RefreshTokenGrant):
    """New tokens for a refresh token, which is good no more."""

    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, refresh_token: str) -> _Key | None:
        """Return what a refresh token stands for."""
        held = self.book.issuing.find_refresh(refresh_token)
        return None if held is None else _Key(held)

    def validate_token_request(self) -> None:
        """Check a request for tokens. Raises: OAuth2Error."""
        super().validate_token_request()
        check_resource(self.request, self.request.refresh_token.held.resource)

    def save_token(self, token: dict[str, Any]) -> None:
        """Keep the tokens."""
        self.book.issuing.rotate(self.request.refresh_token.held, _issued(token))

    def revoke_old_credential(self, refresh_token: _Key) -> None:
        """Do nothing: it was spent when its tokens were kept."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A device, as Authlib asks for it."""

    device: Device

    def get_client_id(self) -> str:
        return self.device.wish.client

    def get_scope(self) -> str:
        return write_scopes(self.device.wish.scopes)


class DeviceGrant(_Booked, DeviceCodeGrant):
    """Tokens for a device, once somebody has typed its code."""

    TOKEN_ENDPOINT_AUTH_METHODS = _PUBLIC

    def query_device_credential(self, device_code: str) -> _Waiting:
        """Return the device. Raises: InvalidGrantError: there is none."""
        device = self.book.devices.look(device_code)
        if device is None or device.outcome == "used":
            raise InvalidGrantError
        return _Waiting(device)

    def validate_device_credential(self, credential: _Waiting) -> str:
        """Return the grant it got. Raises: OAuth2Error: it got none, or none yet."""
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
        """Keep the tokens. Raises: InvalidGrantError: it got them already."""
        if not self.book.devices.redeem(self.request.credential.device, _issued(token)):
            raise InvalidGrantError


ALL: Final[tuple[tuple[type[BaseGrant], list[OnlyS256]], ...]] = (
    (CodeGrant, [OnlyS256()]),
    (RefreshGrant, []),
    (DeviceGrant, []),
)
