"""Sign in at GitHub: OAuth without ID tokens, and the primary address that GitHub has verified."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

from bbops.base.host import Host
from bbops.runtime.identities.asking import Asking
from bbops.runtime.identities.kinds import KINDS, Identity, Settings, read_email, read_name
from bbops.runtime.identities.started import Started

PUBLIC: Final = "https://github.com"


class GitHub:
    """GitHub itself, or a company's own, whose API is below `/api/v3`."""

    posts = False

    def __init__(self, settings: Settings, host: Host) -> None:
        self.settings = settings
        self._ask = Asking(settings.name, host)
        own = f"{settings.issuer}/api/v3"
        self._api = "https://api.github.com" if settings.issuer == PUBLIC else own

    async def begin(self, started: Started, redirect_uri: str) -> str:
        """Return where the browser goes to."""
        query = {
            "client_id": self.settings.client_id, "redirect_uri": redirect_uri,
            "scope": KINDS["github"].scope, "state": started.state,
            "code_challenge": started.challenge, "code_challenge_method": "S256",
        }  # fmt: skip
        return f"{self.settings.issuer}/login/oauth/authorize?{urlencode(query)}"

    async def finish(
        self, started: Started, redirect_uri: str, given: Mapping[str, str]
    ) -> Identity:
        """Return whom GitHub has sent; its word about an address is never authoritative.

        Raises:
            Thrown: it vouches for nobody.
        """
        form = {
            "client_id": self.settings.client_id, "client_secret": self.settings.secret,
            "code": given["code"], "redirect_uri": redirect_uri,
            "code_verifier": started.verifier,
        }  # fmt: skip
        answer = await self._ask.post(f"{self.settings.issuer}/login/oauth/access_token", form)
        token = answer.get("access_token")
        if type(token) is not str:  # its refusals have the status 200
            raise self._ask.refuse("it gave no token for the code")
        user = await self._ask.get(f"{self._api}/user", token)
        emails = await self._ask.get(f"{self._api}/user/emails", token)
        if type(user) is not dict or type(user.get("id")) is not int:
            raise self._ask.refuse("it names nobody")
        name = read_name(user.get("name")) or read_name(user.get("login"))
        return Identity(
            self.settings.issuer, str(user["id"]), _primary(emails), is_authoritative=False,
            name=name,
        )  # fmt: skip

    def is_from(self, issuer: str | None) -> bool:
        """Return whether an answer names no other issuer."""
        return issuer in {None, self.settings.issuer, f"{self.settings.issuer}/login/oauth"}


def _primary(emails: Any) -> str | None:
    for one in emails if type(emails) is list else ():
        if type(one) is dict and one.get("primary") is True and one.get("verified") is True:
            return read_email(one.get("email"))
    return None
