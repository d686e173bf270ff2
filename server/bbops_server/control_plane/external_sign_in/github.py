"""Sign in at GitHub: OAuth, and the primary e-mail address that GitHub has verified."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlencode

from bbops_server.accounts.errors import AccountError
from bbops_server.control_plane.external_sign_in.provider_http import Provided, Stranger
from bbops_server.control_plane.external_sign_in.started import Started
from bbops_server.settings import Provider

PUBLIC: Final = "https://github.com"


class GitHub:
    """GitHub itself, or a company's own, whose API is below `/api/v3`."""

    def __init__(self, provider: Provider, secret: str) -> None:
        self.provider, self._secret = provider, secret
        self._ask = Provided(provider.name, provider.issuer)
        own = f"{provider.issuer}/api/v3"
        self._api = "https://api.github.com" if provider.issuer == PUBLIC else own

    async def begin(self, started: Started, redirect_uri: str) -> str:
        """Return where the browser goes to."""
        query = {
            "client_id": self.provider.client_id, "redirect_uri": redirect_uri,
            "scope": "read:user user:email", "state": started.state,
            "code_challenge": started.challenge, "code_challenge_method": "S256",
        }  # fmt: skip
        return f"{self.provider.issuer}/login/oauth/authorize?{urlencode(query)}"

    async def finish(self, started: Started, code: str, redirect_uri: str) -> Stranger:
        """Return whom GitHub has sent.

        Raises:
            AccountError: it vouches for nobody.
        """
        form = {
            "client_id": self.provider.client_id, "client_secret": self._secret, "code": code,
            "redirect_uri": redirect_uri, "code_verifier": started.verifier,
        }  # fmt: skip
        answer = await self._ask.post(f"{self.provider.issuer}/login/oauth/access_token", form)
        token = answer.get("access_token")
        if not isinstance(token, str):
            raise AccountError("'github' refused the sign-in", hint="try again")
        user = await self._ask.get(f"{self._api}/user", token)
        emails = await self._ask.get(f"{self._api}/user/emails", token)
        if not isinstance(user, dict) or not isinstance(user.get("id"), int):
            raise self._ask.odd()
        email = _primary(emails)
        name = user.get("name") or user.get("login")
        return Stranger(
            self.provider.name, str(user["id"]), email, bool(email),
            name if isinstance(name, str) else "",
        )  # fmt: skip

    def is_from(self, issuer: str | None) -> bool:  # noqa: ARG002 - GitHub names none
        """Return whether an answer names no other issuer."""
        return True


def _primary(emails: Any) -> str:
    for one in emails if isinstance(emails, list) else ():
        if isinstance(one, dict) and one.get("primary") is True and one.get("verified") is True:
            email = one.get("email")
            return email if isinstance(email, str) else ""
    return ""
