"""API keys: issued, listed, replaced, revoked, and their last use; only their hashes are kept.

Refresh tokens use the same secrets and hashes.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any, Final

import msgspec

from bbops.base.errors import BbopsError
from bbops.runtime.values.failures import Failure, FlowError, WrongKind
from bbops.runtime.values.operators import kind
from bbops.runtime.values.values import check_size

MOST_LISTED: Final = 1_000
_MOST_CLAIMS: Final = 10_000
_MOST_NAME: Final = 200
_PREFIX: Final = "bk"
_SHOWN: Final = len(_PREFIX) + 7
_KEPT: Final = ("id", "prefix", "name", "channels", "claims", "created_at", "expires_at",
                "revoked_at")  # fmt: skip
_COLUMNS: Final = (*_KEPT, "used_at")
_ADD: Final = (
    "INSERT INTO _bbops_api_keys (id, hash, prefix, name, channels, claims, created_at, expires_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_SELECT: Final = (
    f"SELECT {', '.join(f'k.{one}' for one in _KEPT)}, u.used_at"
    " FROM _bbops_api_keys k LEFT JOIN _bbops_api_key_uses u ON u.id = k.id"
)
_LIST: Final = f"{_SELECT} ORDER BY k.created_at DESC, k.id LIMIT {MOST_LISTED}"
_FIND: Final = f"{_SELECT} WHERE k.id = ? OR k.prefix = ? ORDER BY k.created_at DESC, k.id LIMIT 2"
_REVOKE: Final = "UPDATE _bbops_api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL"
_EXPIRE: Final = "UPDATE _bbops_api_keys SET expires_at = ? WHERE id = ?"

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode

Statement = tuple[str, Sequence[object]]


async def issue_key(
    host: Any, name: Any, channels: Sequence[str] | None, claims: Any, lasts_seconds: float | None
) -> dict[str, str]:  # fmt: skip
    """Keep a new key and return {id, key}: nobody can show the key again.

    Args:
        host: the doors of the project.
        name: what it is for.
        channels: those that it opens; None for all that take keys.
        claims: a map that functions read as `vars.apiKey.claims`, or None.
        lasts_seconds: None for ever.

    Raises:
        FlowError: the name is no text, the claims are no map, or they are too large.
    """
    given, statement = _new(host, name, channels, claims, lasts_seconds)
    await host.database.write(*statement)
    return given


async def list_keys(host: Any) -> list[dict[str, Any]]:
    """Return the keys, newest first, at most MOST_LISTED; times are seconds since 1970.

    `used_at` is a minute late, see `KeyUses`; None of one that never opened anything.
    """
    return [_told(row) for row in await host.database.read(_LIST)]


async def rotate_key(host: Any, wanted: str, overlap_seconds: float) -> dict[str, str]:
    """Make a key in the place of another, which ends after `overlap_seconds`; return {id, key}.

    The new one has its name, channels and claims, and lasts as long as it was to last.

    Raises:
        FlowError: there is no such key that counts.
    """
    old = await _find_one(host, wanted)
    now = _now(host)
    if old["revoked_at"] is not None or (old["expires_at"] or now + 1) <= now:
        raise FlowError(
            f"API key '{wanted}' has already expired or been revoked; issue another one"
        )
    lasts = None if old["expires_at"] is None else old["expires_at"] - old["created_at"]
    given, statement = _new(host, old["name"], old["channels"], old["claims"], lasts)
    ends = min(now + overlap_seconds, old["expires_at"] or now + overlap_seconds)
    end: Statement = (_EXPIRE, (ends, old["id"])) if ends > now else (_REVOKE, (now, old["id"]))
    await host.database.write_all([statement, end])
    return given


async def revoke_key(host: Any, wanted: str) -> str:
    """End a key and return its id; one that has ended stays so. Raises as `rotate_key`."""
    old = await _find_one(host, wanted)
    await host.database.write(_REVOKE, (_now(host), old["id"]))
    found: str = old["id"]
    return found


async def revoke_by_id(host: Any, id_: Any) -> None:
    """End a key; an unknown one has ended already.

    Raises:
        FlowError: the id is no text.
    """
    if type(id_) is not str:
        raise WrongKind(f"'id' needs a text, got {kind(id_)}")
    await host.database.write(_REVOKE, (_now(host), id_))


def check_channels(channels: Iterable[str], known: Iterable[str]) -> None:
    """Refuse channels that take no keys.

    Raises:
        FlowError: one of them does not, or none does at all.
    """
    known = sorted(known)
    if not known:
        raise FlowError("no channel of the project takes API keys: 'authentication: API Key'")
    for one in channels:
        if one not in known:
            listed = ", ".join(known)
            raise FlowError(f"channel '{one}' takes no API keys; those that do: {listed}")


def _new(
    host: Any, name: Any, channels: Sequence[str] | None, claims: Any, lasts_seconds: float | None
) -> tuple[dict[str, str], Statement]:  # fmt: skip
    if type(name) is not str or len(name) > _MOST_NAME:
        raise WrongKind(f"'name' needs a text of at most {_MOST_NAME} characters, got {kind(name)}")
    if claims is not None and type(claims) is not dict:
        raise WrongKind(f"'claims' needs a map, got {kind(claims)}")
    check_size([name, claims], _MOST_CLAIMS)
    key, hashed = make_secret(host.random, _PREFIX)
    id_, now = host.random.uuid(), _now(host)
    row = (
        id_, hashed, key[:_SHOWN], name, None if channels is None else _encode(channels).decode(),
        _encode(claims or {}).decode(), now, None if lasts_seconds is None else now + lasts_seconds,
    )  # fmt: skip
    return {"id": id_, "key": key}, (_ADD, row)


async def _find_one(host: Any, wanted: str) -> dict[str, Any]:
    rows = await host.database.read(_FIND, (wanted, wanted))
    if not rows:
        raise FlowError(f"there is no API key '{wanted}'; 'bbops keys list' shows them")
    if len(rows) > 1:
        raise FlowError(f"several API keys begin with '{wanted}'; use the id of one")
    return _told(rows[0])


def _told(row: Sequence[Any]) -> dict[str, Any]:
    found: Mapping[str, Any] = dict(zip(_COLUMNS, row, strict=True))
    channels, claims = found["channels"], found["claims"]
    return {
        **found,
        "channels": None if channels is None else _decode(channels),
        "claims": _decode(claims) if claims else {},
    }


def _now(host: Any) -> float:
    now: float = host.clock.now().timestamp()
    return now


_LENGTH: Final = 40
"""Characters of a-z and 0-9: 206 bits, so that a plain hash tells nobody anything."""
_SIGNS: Final = "abcdefghijklmnopqrstuvwxyz0123456789"


def make_secret(random: Any, prefix: str) -> tuple[str, str]:
    """Return a new secret text and the hash that is kept of it."""
    text = f"{prefix}_{random.token(_LENGTH)}"
    return text, hash_secret(text)


def derive_secret(text: str, salt: str, prefix: str) -> tuple[str, str]:
    """Return the secret text that follows from another by a salt, and the hash that is kept of it.

    Who has but one of the two, the text or the salt, learns nothing of it.
    """
    mac = hmac.digest(text.encode("utf-8", "surrogatepass"), salt.encode(), "sha256")
    number, signs = int.from_bytes(mac), []
    for _ in range(_LENGTH):
        number, sign = divmod(number, len(_SIGNS))
        signs.append(_SIGNS[sign])
    made = f"{prefix}_{''.join(signs)}"
    return made, hash_secret(made)


def hash_secret(text: str) -> str:
    """Return what is kept of a secret text, in hex.

    Looking a hash up tells nothing by its time: who can choose it does not know the text.
    """
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


_WRITE: Final = (
    "INSERT INTO _bbops_api_key_uses (id, used_at) VALUES (?, ?) ON CONFLICT (id) DO UPDATE"
    " SET used_at = excluded.used_at WHERE excluded.used_at > _bbops_api_key_uses.used_at"
)


class KeyUses:
    """The uses of one project's keys in one process since they were written down last.

    A request pays for one entry in a map; the entries are as many as keys are in use.
    """

    def __init__(self) -> None:
        self._noted: dict[str, float] = {}

    def note(self, key: str, at: float) -> None:
        """Remember that a key was used; `at` in seconds since 1970."""
        self._noted[key] = at

    async def write_down(self, database: Any) -> None:
        """Write down what was noted; a later use that another process has told stays.

        What cannot be written now stays noted, for the next time.
        """
        if not self._noted:
            return
        noted = dict(self._noted)
        with suppress(Failure, BbopsError):
            await database.write_all([(_WRITE, one) for one in noted.items()])
            self._noted = dict(self._noted.items() - noted.items())
