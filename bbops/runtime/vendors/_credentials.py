"""How a step of a project's own addon tells who asks: by values of settings, or a fetched token."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlencode

from bbops.base.host import Http
from bbops.runtime.values.outside import Refusal, failure_of, send
from bbops.runtime.vendors._parts import basic, bearer, text_at
from bbops.runtime.vendors._work import AddonFailure, Work, read_answer, read_json

_USUAL_SECONDS: Final = 300.0
_EARLY_SECONDS: Final = 60.0
GOOD: Final = range(200, 300)
"""Statuses of an answer that is a good one."""
_FORM: Final = "application/x-www-form-urlencoded"


@dataclass(slots=True)
class _Token:
    value: str = ""
    ends: float = 0.0
    of: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class Credentials:
    """One way of telling who asks; tokens are kept in memory, never written anywhere."""

    told: Mapping[str, Any]
    token: _Token = field(default_factory=_Token, repr=False)

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> Credentials:
        """Return them from what `auth` says."""
        return cls(told)

    async def headers(self, work: Work, http: Http) -> dict[str, str]:
        """Return the headers that tell it; a token is fetched through `http`.

        Raises:
            AddonFailure: `addon-config`, a setting has no value, or none that a header takes.
            HttpFailure: no token can be fetched.
        """
        told = self.told
        if "bearer" in told:
            return bearer(_printable(work, told["bearer"]))
        if "basic" in told:
            name, secret = told["basic"]
            return basic(work.setting(name), work.setting(secret))
        if "header" in told:
            return {name.lower(): _printable(work, key) for name, key in told["header"].items()}
        if "clientCredentials" in told:
            return bearer(await self._fetched(work, http, told["clientCredentials"]))
        return {}

    def query(self, work: Work) -> list[tuple[str, str]]:
        """Return the parts of the address that tell it."""
        return [(name, work.setting(key)) for name, key in self.told.get("query", {}).items()]

    async def _fetched(self, work: Work, http: Http, told: Mapping[str, Any]) -> str:
        who = work.setting(told["clientId"]), work.setting(told["clientSecret"])
        now = asyncio.get_running_loop().time()
        if self.token.of == who and now < self.token.ends:
            return self.token.value
        form = {"grant_type": "client_credentials"}
        if told.get("scopes"):
            form["scope"] = " ".join(told["scopes"])
        name, secret = (quote(one, safe="") for one in who)  # RFC 6749 section 2.3.1
        headers = {**basic(name, secret), "content-type": _FORM, "accept": "application/json"}
        url = told["tokenUrl"]
        request = work.request("POST", url, headers, urlencode(form).encode())
        answer = await send(http, request, repeats=True)
        if not GOOD.start <= answer.status < GOOD.stop:
            found = _refusal(read_json(answer))
            raise failure_of(url, answer, work.host.clock.now(), found, repeats=True)
        return self._keep(who, now, read_answer(url, answer))

    def _keep(self, who: tuple[str, str], now: float, found: Any) -> str:
        value = text_at(found, "access_token")
        if value is None or not (value.isascii() and value.isprintable()):
            raise AddonFailure("addon-answer", "the server returned no 'access_token'")
        lasts = found.get("expires_in")
        lasts = float(lasts) if type(lasts) in {int, float} else _USUAL_SECONDS
        self.token.value, self.token.of = value, who
        self.token.ends = now + max(0.0, lasts - _EARLY_SECONDS)
        return value

    def forget(self) -> None:
        """Fetch a new token the next time: this one was refused."""
        self.token.ends = 0.0


def _printable(work: Work, key: str) -> str:
    value = work.setting(key)
    if not (value.isascii() and value.isprintable()):
        message = f"the value of '{key}' of addon '{work.addon}' is not allowed in a header"
        raise AddonFailure("addon-config", message)
    return value


def _refusal(found: Any) -> Refusal:
    return Refusal(text_at(found, "error_description"), text_at(found, "error"))
