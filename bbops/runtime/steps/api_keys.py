"""API keys of a project: made by its functions, shown once, looked up at each request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec

from bbops.runtime.auth.api_keys import KeyUses, hash_secret, issue_key, revoke_by_id
from bbops.runtime.flow.run import Run
from bbops.runtime.values.units import seconds

KEY_NAME: Final = "api_key"
"""What a key is called in a query."""
KNOWN_SECONDS: Final = 5.0
"""How long a key counts as it was last seen: so long may one live that was revoked."""

_MOST_KNOWN: Final = 10_000
_MOST_TEXT: Final = 200
_FIND: Final = (
    "SELECT id, name, channels, claims, expires_at FROM _bbops_api_keys"
    " WHERE hash = ? AND revoked_at IS NULL"
)
_decode = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key that was found; `channels` None means every channel."""

    claims: Mapping[str, Any]
    channels: frozenset[str] | None
    expires_at: float | None


class ApiKeys:
    """Looks keys up, and remembers for a moment what it found, and what is none."""

    def __init__(self, database: Any, clock: Any, uses: KeyUses) -> None:
        self._database, self._clock, self._uses = database, clock, uses
        self._known: dict[str, tuple[float, ApiKey | None]] = {}

    async def verify(self, text: str, channel: str) -> Mapping[str, Any] | None:
        """Return {id, name, claims} of a key that opens the channel, otherwise None."""
        if len(text) > _MOST_TEXT:
            return None
        now = self._clock.now().timestamp()
        hashed = hash_secret(text)
        seen, key = self._known.get(hashed, (0.0, None))
        if not now - KNOWN_SECONDS < seen <= now:
            key = await self._find(hashed)
            if len(self._known) >= _MOST_KNOWN:
                del self._known[next(iter(self._known))]
            self._known[hashed] = now, key
        if key is None or (key.expires_at is not None and key.expires_at <= now):
            return None
        if key.channels is not None and channel not in key.channels:
            return None
        self._uses.note(key.claims["id"], now)
        return key.claims

    def forget(self) -> None:
        """Look every key up anew: one of them was changed."""
        self._known.clear()

    async def _find(self, hashed: str) -> ApiKey | None:
        rows = await self._database.read(_FIND, (hashed,))
        if not rows:
            return None
        id_, name, channels, claims, expires_at = rows[0]
        opens = None if channels is None else frozenset(_decode(channels))
        given = {"id": id_, "name": name, "claims": _decode(claims) if claims else {}}
        return ApiKey(given, opens, expires_at)


def given_key(scope: Any) -> str | None:
    """Return the key of a request: its header `x-api-key`, else `api_key` of its query."""
    for name, value in scope["headers"]:
        if name == b"x-api-key":
            text: str = value.decode("latin-1")
            return text
    query = scope["query_string"]
    if b"api_key=" not in query:
        return None
    try:
        pairs = parse_qsl(query.decode("ascii"), max_num_fields=1_000)
    except ValueError:
        return None
    return next((value for name, value in pairs if name == KEY_NAME), None)


async def make_api_key(
    run: Run, name: Any, channels: Sequence[str] | None, claims: Any, expires: Any
) -> dict[str, str]:  # fmt: skip
    """Keep a new key of a function; arguments and errors as those of `issue_key`."""
    lasts = None if expires is None else seconds(expires)
    return await issue_key(run.host, name, channels, claims, lasts)


async def revoke_api_key(run: Run, id_: Any) -> None:
    """End a key, everywhere within KNOWN_SECONDS; an unknown one has ended already."""
    await revoke_by_id(run.host, id_)
