"""Passwords: any length, any hash, never on the event loop."""

from __future__ import annotations

import asyncio
import hashlib
from base64 import b64encode
from typing import Any

import bcrypt
import pytest

from bbops.runtime.auth import passwords
from bbops.runtime.auth.passwords import hash_password, verify_password
from bbops.runtime.values.failures import FlowError


def hashed(password: str) -> str:
    return asyncio.run(hash_password(password, 4))


def verified(password: str, against: Any) -> bool:
    return asyncio.run(verify_password(password, against))


@pytest.mark.parametrize(
    "password", ["secret", "", "pässwörd", "x" * 72, "x" * 73, "a\0b", "é" * 5_000]
)
def test_a_password_fits_its_hash_and_no_other(password: str) -> None:
    assert verified(password, hashed(password))
    assert not verified(password + "!", hashed(password))


def test_bytes_after_the_seventy_second_count() -> None:
    assert not verified("x" * 72 + "b", hashed("x" * 72 + "a"))
    assert not verified("a\0c", hashed("a\0b"))


def test_a_long_password_is_hashed_first_in_base64() -> None:
    digest = b64encode(hashlib.sha256(b"x" * 100).digest())
    assert bcrypt.checkpw(digest, hashed("x" * 100).encode())


def test_a_hash_says_its_rounds() -> None:
    assert hashed("secret").startswith("$2b$04$")


@pytest.mark.parametrize("prefix", ["$2a$", "$2y$"])
def test_hashes_of_other_systems_are_verified(prefix: str) -> None:
    assert verified("secret", hashed("secret").replace("$2b$", prefix))


@pytest.mark.parametrize("rounds", [3, 16, 31, True, 12.0, None])
def test_rounds_are_bounded(rounds: Any) -> None:
    with pytest.raises(FlowError, match="'rounds' is 4 to 15"):
        asyncio.run(hash_password("secret", rounds))


@pytest.mark.parametrize("password", [None, 1, ["x"]])
def test_a_password_is_text(password: Any) -> None:
    with pytest.raises(FlowError, match="'password' needs text"):
        asyncio.run(hash_password(password))
    with pytest.raises(FlowError, match="'password' needs text"):
        asyncio.run(verify_password(password, None))


def test_what_is_no_hash_is_false(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "_NOBODY", "$2b$04$" + "." * 53)
    for against in (
        None,
        "",
        "secret",
        "$2b$12$short",
        "$2b$31$" + "a" * 53,
        5,
        "$2b$04$" + "é" * 53,
    ):
        assert verified("secret", against) is False


def test_no_hash_costs_as_much_as_a_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def note(_: bytes, against: str) -> bool:
        seen.append(against)
        return False

    monkeypatch.setattr(passwords, "_verify", note)
    assert not verified("secret", None)
    assert seen == ["$2b$12$" + "." * 53]


def test_even_a_password_that_fits_the_stand_in_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "_NOBODY", hashed("secret"))
    assert not verified("secret", None)


def test_the_event_loop_goes_on_while_a_password_is_hashed() -> None:
    async def turns() -> int:
        task = asyncio.create_task(hash_password("secret", 10))
        count = 0
        while not task.done():
            await asyncio.sleep(0)
            count += 1
        return count

    assert asyncio.run(turns()) > 10
