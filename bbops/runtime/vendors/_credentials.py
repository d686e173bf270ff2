"""Credentials of requests to vendors: settings, fetched tokens, and AWS signatures.

Tokens for an id and a secret (RFC 6749 section 4.4) are fetched once and kept. They are not
recorded: a job that runs again needs the same number of recorded requests.
Signature Version 4: https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-authenticating-requests.html
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b, sha256
from time import monotonic
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from bbops.base.host import Http, HttpRequest
from bbops.runtime.values.outside import Refusal, failure_of, send
from bbops.runtime.vendors._parts import basic, bearer, text_at
from bbops.runtime.vendors._work import AddonFailure, ReadRefusal, Work, read_answer, read_json

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


EARLY_SECONDS: Final = 3_600.0
"""So long before its end a token is got anew."""
_LEAST_SECONDS: Final = 60.0
_MOST_KEPT: Final = 1_000
_MOST_TEXT: Final = 4_096

_kept: dict[bytes, tuple[str, float]] = {}
_under_way: dict[tuple[int, bytes], asyncio.Task[str]] = {}


async def get_token(work: Work, url: str, form: Mapping[str, str], refusal: ReadRefusal) -> str:
    """Return a token; all who ask meanwhile wait for the same request.

    Args:
        work: the step that needs it.
        url: where the vendor gives it.
        form: the id and the secret among it.
        refusal: reads an answer that is not a good one.

    Raises:
        HttpFailure: there is none.
        AddonFailure: the answer holds none.
    """
    name = _name(url, form)
    found = _kept.get(name)
    if found is not None and monotonic() < found[1]:
        return found[0]
    key = id(asyncio.get_running_loop()), name
    task = _under_way.get(key)
    if task is None:
        task = _under_way[key] = asyncio.create_task(_fetch(work, url, form, refusal))
        task.add_done_callback(lambda _: _under_way.pop(key, None))
    return await asyncio.shield(task)


def forget_token(url: str, form: Mapping[str, str], token: str) -> None:
    """Get another one next time, where this is the one that is kept: the vendor refused it."""
    name = _name(url, form)
    if name in _kept and _kept[name][0] == token:
        del _kept[name]


async def _fetch(work: Work, url: str, form: Mapping[str, str], refusal: ReadRefusal) -> str:
    headers = {
        "content-type": "application/x-www-form-urlencoded", "accept": "application/json",
    }  # fmt: skip
    request = HttpRequest(
        "POST", url, headers, urlencode(form).encode(), work.terms.seconds, "none",
        most_bytes=work.terms.most_bytes,
    )  # fmt: skip
    answer = await send(_door(work.host.http), request, repeats=True)
    found = read_json(answer)
    if not 200 <= answer.status <= 299:
        raise work.failure(url, answer, refusal(answer, found))
    token = found.get("access_token") if isinstance(found, dict) else None
    if not isinstance(token, str) or not 0 < len(token) <= _MOST_TEXT:
        raise AddonFailure("addon-answer", "the vendor's answer has no 'access_token'")
    given: Any = found.get("expires_in")
    lasts = float(given) if isinstance(given, int) and 0 < given < 10**9 else 0.0
    if len(_kept) >= _MOST_KEPT:
        del _kept[next(iter(_kept))]
    _kept[_name(url, form)] = token, monotonic() + max(_LEAST_SECONDS, lasts - EARLY_SECONDS)
    return token


def _door(http: Http | None) -> Http | None:
    """Return the door itself, behind those that record or note what goes through."""
    while (inner := getattr(http, "door", None)) is not None:
        http = inner
    return http


def _name(url: str, form: Mapping[str, str]) -> bytes:
    return blake2b(repr((url, sorted(form.items()))).encode(), digest_size=16).digest()


_ALGORITHM: Final = "AWS4-HMAC-SHA256"
_UNSIGNED: Final = "UNSIGNED-PAYLOAD"


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs for one bucket's region, as who owns a key."""

    key_id: str
    secret: str
    region: str

    def headers(
        self, method: str, url: str, query: Mapping[str, str], body: bytes, at: datetime,
        more: Mapping[str, str],
    ) -> dict[str, str]:  # fmt: skip
        """Return the headers of a request, `more` among them."""
        moment, digest = _stamp(at), sha256(body).hexdigest()
        signed = {
            "host": urlsplit(url).netloc, "x-amz-content-sha256": digest, "x-amz-date": moment,
            **more,
        }  # fmt: skip
        signature = self._sign(method, url, query, signed, digest, moment)
        names = ";".join(sorted(signed))
        credential = f"{self.key_id}/{self._scope(moment)}"
        told = f"{_ALGORITHM} Credential={credential}, SignedHeaders={names}, Signature={signature}"
        return {**{name: one for name, one in signed.items() if name != "host"},
                "authorization": told}  # fmt: skip

    def address(self, url: str, seconds: int, at: datetime) -> str:
        """Return an address under which anybody may read for so long."""
        moment = _stamp(at)
        query = {
            "X-Amz-Algorithm": _ALGORITHM,
            "X-Amz-Credential": f"{self.key_id}/{self._scope(moment)}",
            "X-Amz-Date": moment, "X-Amz-Expires": str(seconds), "X-Amz-SignedHeaders": "host",
        }  # fmt: skip
        host = {"host": urlsplit(url).netloc}
        signature = self._sign("GET", url, query, host, _UNSIGNED, moment)
        return f"{url}?{query_of(query)}&X-Amz-Signature={signature}"

    def _sign(
        self, method: str, url: str, query: Mapping[str, str], headers: Mapping[str, str],
        digest: str, moment: str,
    ) -> str:  # fmt: skip
        lines = "".join(f"{name}:{headers[name].strip()}\n" for name in sorted(headers))
        names = ";".join(sorted(headers))
        request = "\n".join(
            (method, urlsplit(url).path or "/", query_of(query), lines, names, digest)
        )
        hashed = sha256(request.encode()).hexdigest()
        text = "\n".join((_ALGORITHM, moment, self._scope(moment), hashed))
        return hmac.new(self._key(moment), text.encode(), "sha256").hexdigest()

    def _scope(self, moment: str) -> str:
        return f"{moment[:8]}/{self.region}/s3/aws4_request"

    def _key(self, moment: str) -> bytes:
        key = f"AWS4{self.secret}".encode()
        for part in (moment[:8], self.region, "s3", "aws4_request"):
            key = hmac.digest(key, part.encode(), "sha256")
        return key


def query_of(values: Mapping[str, str]) -> str:
    """Return a query as it is signed: sorted, with everything escaped that may be."""
    return "&".join(f"{quote(name, safe='~')}={quote(values[name], safe='~')}"
                    for name in sorted(values))  # fmt: skip


def _stamp(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
