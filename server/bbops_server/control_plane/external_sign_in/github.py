"""Sign in with GitHub: OAuth, and the primary e-mail address that GitHub has verified."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlencode

from bbops_server.accounts.text_rules import AccountError
from bbops_server.control_plane.external_sign_in.provider_http import (
    ExternalUser,
    PendingSignIn,
    ProviderHttp,
)
from bbops_server.settings import Provider

PUBLIC: Final = "https://github.com"


class GitHubSignIn:
    """Sign-in with github.com, or with GitHub Enterprise, whose API is below `/api/v3`."""

    def __init__(self, provider: Provider, secret: str) -> None:
        self.provider, self._secret = provider, secret
        self._http = ProviderHttp(provider.name, provider.issuer)
        own = f"{provider.issuer}/api/v3"
        self._api = "https://api.github.com" if provider.issuer == PUBLIC else own

    async def begin(self, pending: PendingSignIn, redirect_uri: str) -> str:
        """Return the authorization URL."""
        query = {
            "client_id": self.provider.client_id, "redirect_uri": redirect_uri,
            "scope": "read:user user:email", "state": pending.state,
            "code_challenge": pending.challenge, "code_challenge_method": "S256",
        }  # fmt: skip
        return f"{self.provider.issuer}/login/oauth/authorize?{urlencode(query)}"

    async def finish(self, pending: PendingSignIn, code: str, redirect_uri: str) -> ExternalUser:
        """Return the user who has signed in at GitHub.

        Raises:
            AccountError: GitHub rejected the code, or its response is not valid.
        """
        form = {
            "client_id": self.provider.client_id, "client_secret": self._secret, "code": code,
            "redirect_uri": redirect_uri, "code_verifier": pending.verifier,
        }  # fmt: skip
        answer = await self._http.post(f"{self.provider.issuer}/login/oauth/access_token", form)
        token = answer.get("access_token")
        if not isinstance(token, str):
            raise AccountError("'github' refused the sign-in", hint="try again")
        user = await self._http.get(f"{self._api}/user", token)
        emails = await self._http.get(f"{self._api}/user/emails", token)
        if not isinstance(user, dict) or not isinstance(user.get("id"), int):
            raise self._http.invalid_response()
        email = _primary(emails)
        name = user.get("name") or user.get("login")
        return ExternalUser(
            self.provider.name, str(user["id"]), email, bool(email),
            name if isinstance(name, str) else "",
        )  # fmt: skip

    def is_from(self, issuer: str | None) -> bool:  # noqa: ARG002 - GitHub sends none
        """Return True: GitHub sends no issuer to compare."""
        return True


def _primary(emails: Any) -> str:
    for entry in emails if isinstance(emails, list) else ():
        if isinstance(entry, dict) and entry.get("primary") is entry.get("verified") is True:
            email = entry.get("email")
            return email if isinstance(email, str) else ""
    return ""
