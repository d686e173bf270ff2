"""Sets of keys that others publish at an address (JWKS, RFC 7517): fetched, bounded, kept.

What a token says of where its key is (`jku`, `x5u`, `jwk`) is never followed.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from bbops.base.host import Clock, Http, HttpRequest, Log
from bbops.runtime.auth.keys import VerifyingKey, check_strength
from bbops.runtime.values.failures import Failure

FETCH_SECONDS: Final = 5.0
AGAIN_SECONDS: Final = 30.0
"""So long after a fetch no unknown key causes another."""
FRESH_SECONDS: Final = 600.0
"""A set that is older is fetched again when it is next used."""
LEAST_FRESH: Final = 60.0
MOST_FRESH: Final = 86_400.0
MAX_BYTES: Final = 256 << 10
MAX_KEYS: Final = 100
_MAX_ID: Final = 200
_MAX_AGE: Final = re.compile(r"(?:^|[\s,])max-age=([0-9]{1,9})\b").search


class KeySet:
    """One address and the last good set of keys that was there; `[]` until the first."""

    def __init__(
        self, url: str, algorithm: str, wanted: str | None, *, clock: Clock, log: Log,
        http: Http | None, stale_seconds: float | None = None,
    ) -> None:  # fmt: skip
        """Make one without keys; without `http` there are never any.

        Args:
            url: where the set is.
            algorithm: of the keys that count.
            wanted: only the key of this id counts.
            clock: tells how old the set is.
            log: is told when it cannot be read.
            http: the door.
            stale_seconds: how long the keys count after the `max-age` that came with them; None
                for ever, and they are fresh for `FRESH_SECONDS`.
        """
        self.url, self.keys = url, list[VerifyingKey]()
        self.algorithm, self._wanted = algorithm, wanted
        self._clock, self._log, self._http = clock, log, http
        self._asked_at = self._fetched_at = float("-inf")
        self._stale, self._fresh = stale_seconds, FRESH_SECONDS
        self._fetching: asyncio.Task[None] | None = None
        self.on_change: Callable[[], None] = lambda: None

    @property
    def is_too_old(self) -> bool:
        """Whether there are no keys, or none that count any more."""
        age = self._clock.now().timestamp() - self._fetched_at
        return not self.keys or (self._stale is not None and age > self._fresh + self._stale)

    def freshen(self) -> None:
        """Begin to fetch a set that is old, beside whatever goes on."""
        now = self._clock.now().timestamp()
        if now - self._fetched_at > self._fresh and self._may_ask(now):
            self._begin(now)

    async def look_again(self) -> None:
        """Fetch the set because a key is unknown, unless that was done a moment ago."""
        now = self._clock.now().timestamp()
        if self._fetching is None and self._may_ask(now):
            self._begin(now)
        if self._fetching is not None:
            await asyncio.shield(self._fetching)

    def _may_ask(self, now: float) -> bool:
        return self._http is not None and not 0 <= now - self._asked_at < AGAIN_SECONDS

    def _begin(self, now: float) -> None:
        if self._fetching is None:
            self._asked_at = now
            self._fetching = asyncio.create_task(self._fetch())

    async def _fetch(self) -> None:
        try:
            found = [*self._read(await self._ask())]
        except Exception as error:  # noqa: BLE001 - whoever waits for it goes on with what was kept
            why = error.message if isinstance(error, Failure) else type(error).__name__
            kept = {"kept": len(self.keys)}
            self._log.write("error", f"the keys at '{self.url}' cannot be read: {why}", kept)
            return
        finally:
            self._fetching = None
        self._fetched_at = self._clock.now().timestamp()
        self.keys = found
        self.on_change()

    async def _ask(self) -> bytes:
        assert self._http is not None  # noqa: S101 - `_may_ask` has looked
        headers = {"accept": "application/json"}
        request = HttpRequest("GET", self.url, headers, b"", FETCH_SECONDS)
        answer = await self._http.send(request)
        if answer.status != 200:
            raise Failure(f"it answered {answer.status}")
        if len(answer.body) > MAX_BYTES:
            raise Failure(f"it has {len(answer.body):,} bytes, at most {MAX_BYTES:,} are read")
        if self._stale is not None:
            age = _MAX_AGE(answer.headers.get("cache-control", ""))
            seconds = float(age[1]) if age else FRESH_SECONDS
            self._fresh = min(max(seconds, LEAST_FRESH), MOST_FRESH)
        return answer.body

    def _read(self, body: bytes) -> Iterator[VerifyingKey]:
        """Yield the keys that are for verifying tokens of this algorithm; others are left out.

        Raises:
            Failure: it is not a JWKS, or has none of them.
        """
        try:
            every = msgspec.json.decode(body)["keys"]
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, KeyError, TypeError):
            raise Failure("it is not a JWKS") from None
        if type(every) is not list or len(every) > MAX_KEYS:
            raise Failure(f"expected a list of at most {MAX_KEYS} keys")
        found = [key for one in every if (key := self._key(one)) is not None]
        if not found:
            raise Failure(f"it has no key for {self.algorithm}")
        yield from found

    def _key(self, one: Any) -> VerifyingKey | None:
        if type(one) is not dict or not self._is_meant(one):
            return None
        import jwt  # noqa: PLC0415 - see `bbops.runtime.auth.keys`

        public = {name: value for name, value in one.items() if name not in _SECRET}
        try:
            key = jwt.get_algorithm_by_name(self.algorithm).from_jwk(public)
            check_strength(key, self.algorithm)
        except Exception:  # noqa: BLE001 - it is anybody's text: one bad key does not hide others
            return None
        return VerifyingKey(key, self.algorithm, one.get("kid"))

    def _is_meant(self, one: dict[str, Any]) -> bool:
        kid, uses = one.get("kid"), one.get("key_ops", ["verify"])
        return (
            (kid is None or (type(kid) is str and len(kid) <= _MAX_ID))
            and one.get("kty") in {"RSA", "EC", "OKP"}
            and one.get("alg", self.algorithm) == self.algorithm
            and one.get("use", "sig") == "sig"
            and type(uses) is list and "verify" in uses
            and self._wanted in {None, kid}
        )  # fmt: skip


_SECRET: Final = frozenset(("d", "p", "q", "dp", "dq", "qi", "oth", "k"))
