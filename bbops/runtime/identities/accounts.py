"""Whose account an identity is: one that has been used before, one that it may join, or a new one.

An identity joins an account by its email only where both know whose mailbox that is: the issuer has
it, and this project has verified it for the account. Else who signed up first with somebody's
address, here or there, would share their account.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from bbops.runtime.flow.run import Run
from bbops.runtime.identities.kinds import Identity
from bbops.runtime.steps.blocks import Within
from bbops.runtime.values.failures import DatabaseFailure, Thrown
from bbops.runtime.values.identifiers import quote

_FIND: Final = "SELECT user_id FROM _bbops_identities WHERE issuer = ? AND subject = ?"
_ADD: Final = (
    "INSERT INTO _bbops_identities (issuer, subject, user_id, created_at) VALUES (?, ?, ?, ?)"
)
_FORGET: Final = "DELETE FROM _bbops_identities WHERE issuer = ? AND subject = ?"
_FORGET_USED: Final = "DELETE FROM _bbops_used_sign_ins WHERE expires_at < ?"
_USE: Final = (
    "INSERT INTO _bbops_used_sign_ins (id, expires_at) VALUES (?, ?)"
    " ON CONFLICT (id) DO NOTHING RETURNING id"
)
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(str | int).decode


@dataclass(frozen=True, slots=True)
class User:
    """An account: its key, what its token says of it, and what the project says of its address."""

    key: str | int
    email: str | None
    role: str | None
    is_verified: bool = False
    is_blocked: bool = False


@dataclass(frozen=True, slots=True)
class Profile:
    """The table of users, and what its columns mean.

    Attributes:
        key: the column of the primary key.
        types: of the columns, by their names.
        made: `uuid`, `moment` or a constant for what an insert has to fill in.
        longest: of the name, in characters.
    """

    table: str
    key: str
    types: Mapping[str, str]
    made: Mapping[str, tuple[str, Any]]
    inserter: Any
    email: str
    verified: str | None
    name: str | None
    role: str | None
    blocked: str | None
    longest: int
    needs_email: bool

    def query(self, where: str) -> str:
        """Return the statement that reads accounts, in the order of `User`."""
        columns = [quote(one) if one else "NULL" for one in
                   (self.key, self.email, self.role, self.verified, self.blocked)]  # fmt: skip
        return f"SELECT {', '.join(columns)} FROM {quote(self.table)} WHERE {where} LIMIT 2"


class Accounts:
    """The accounts of a project."""

    __slots__ = ("_by_email", "_by_key", "_profile")

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._by_key = profile.query(f"{quote(profile.key)} = ?")
        self._by_email = profile.query(f"lower({quote(profile.email)}) = ?")

    async def use(self, run: Run, started: str, expires: float) -> bool:
        """Return whether nobody has come back to a sign-in before."""
        now = run.host.clock.now().timestamp()
        _, found = await run.host.database.write_all(
            [(_FORGET_USED, (now,)), (_USE, (started, expires))]
        )
        return bool(found)

    async def find_or_add(self, run: Run, identity: Identity) -> User:
        """Return the account of an identity, which may be made for it.

        Raises:
            Thrown: 409, the address has an account that the identity cannot join; 403, the account
                is blocked, or the identity has no address that its provider has verified, and the
                table needs one.
            DatabaseFailure: a row of the table cannot hold it.
        """
        found = await self._find(run, identity) or await self._join(run, identity)
        if found is not None:
            return found
        try:
            return await self._add(run, identity)
        except DatabaseFailure as failure:
            if failure.status != 409:
                raise
        # somebody has come first: the same person in another tab, or another one of this address
        found = await self._find(run, identity)
        if found is None:
            raise _taken()
        return found

    async def _find(self, run: Run, identity: Identity) -> User | None:
        named = identity.issuer, identity.subject
        rows = await run.host.database.read(_FIND, named)
        if not rows:
            return None
        users = await self._read(run, self._by_key, self._stored(_decode(rows[0][0])))
        if users:
            return _admitted(users[0])
        await run.host.database.write(_FORGET, named)  # the account is gone
        return None

    async def _join(self, run: Run, identity: Identity) -> User | None:
        """Return the account of the identity's address, if it may have it; None without one.

        Raises:
            Thrown: 409, it may not.
        """
        if identity.email is None:
            return None
        users = await self._read(run, self._by_email, identity.email)
        users = [one for one in users if (one.email or "").isascii()]
        if not users:
            return None
        user = users[0]
        if len(users) > 1 or not user.is_verified or not identity.is_authoritative:
            raise _taken()
        _admitted(user)
        try:
            await run.host.database.write(_ADD, self._row(run, identity, user.key))
        except DatabaseFailure:  # the same person in another tab
            return await self._find(run, identity)
        return user

    async def _add(self, run: Run, identity: Identity) -> User:
        profile = self._profile
        if identity.email is None and profile.needs_email:
            raise Thrown(
                403, "the provider has verified no email address of this account",
                code="emailUnverified",
            )  # fmt: skip
        now = run.host.clock.now()
        data: dict[str, Any] = {profile.email: identity.email}
        if profile.name is not None:
            name = identity.name or (identity.email or "").partition("@")[0] or "?"
            data[profile.name] = name[: profile.longest]
        if profile.verified is not None and identity.is_authoritative:
            is_flag = profile.types[profile.verified] == "boolean"
            data[profile.verified] = True if is_flag else now
        made = {
            name: run.host.random.uuid() if how == "uuid" else now if how == "moment" else value
            for name, (how, value) in profile.made.items()
        }  # fmt: skip
        async with Within(run) as host:
            row = await profile.inserter(host.database, data, lambda: made)
            await host.database.write(_ADD, self._row(run, identity, row[profile.key]))
        role = row[profile.role] if profile.role else None
        return User(row[profile.key], row[profile.email], role)

    async def _read(self, run: Run, sql: str, value: object) -> list[User]:
        decoders, types = self._profile.inserter.decoders, self._profile.types
        decode = decoders.get(types[self._profile.key])
        rows = await run.host.database.read(sql, (value,))
        return [
            User(decode(key) if decode else key, email, role, bool(verified), bool(blocked))
            for key, email, role, verified, blocked in rows
        ]

    def _stored(self, key: str | int) -> Any:
        profile = self._profile
        return profile.inserter.encoders[profile.types[profile.key]](key, profile.key)

    def _row(self, run: Run, identity: Identity, key: str | int) -> tuple[Any, ...]:
        now = run.host.clock.now().timestamp()
        return identity.issuer, identity.subject, _encode(key).decode(), now


def _admitted(user: User) -> User:
    if user.is_blocked:
        raise Thrown(403, "this account may not sign in", code="accountBlocked")
    return user


def _taken() -> Thrown:
    return Thrown(
        409, "there is an account with this email address: sign in to it as before",
        code="accountExists",
    )  # fmt: skip
