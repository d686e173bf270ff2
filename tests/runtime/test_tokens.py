"""Tokens: who gets in, who does not, and that nothing raises."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from hypothesis import given
from hypothesis import strategies as st

from bbops.runtime.auth.tokens import Tokens
from bbops.runtime.values.failures import FlowError
from tests.support.clock import Clock
from tests.support.signing_keys import ed25519_key, p256_key, rsa_key

KEY = "k" * 64
PEM = f"-----BEGIN PUBLIC KEY-----\n{'A' * 64}\n-----END PUBLIC KEY-----\n"
START = datetime(2026, 3, 5, 12, tzinfo=UTC)


def make(clock: Clock | None = None, key: str = KEY, **options: Any) -> Tokens:
    options = {"algorithm": "HS256", "expires_seconds": 60, **options}
    return Tokens(key, clock=clock or Clock(START), **options)


def signed(payload: dict[str, Any], *, algorithm: str = "HS256", key: str = KEY) -> str:
    times = {"exp": int(START.timestamp()) + 60, "sub": "1"}
    given = {name: value for name, value in {**times, **payload}.items() if value is not None}
    return jwt.encode(given, key, algorithm)


def pem(private: Any) -> tuple[str, str]:
    """Return the private and the public key as PEM."""
    secret = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return secret.decode(), public.decode()


def test_a_token_tells_who_it_was_issued_to() -> None:
    tokens = make()
    token = tokens.issue("u1", email="ada@example.org", role="admin", claims={"plan": "pro"})
    assert tokens.verify(token) == {
        "userId": "u1",
        "email": "ada@example.org",
        "role": "admin",
        "claims": {"plan": "pro"},
    }


def test_what_a_token_does_not_say_is_null() -> None:
    tokens = make()
    assert tokens.verify(tokens.issue("u1")) == {
        "userId": "u1",
        "email": None,
        "role": None,
        "claims": {},
    }


def test_a_user_id_comes_back_as_its_type() -> None:
    tokens = make(user_id_type="integer")
    found = tokens.verify(tokens.issue(7))
    assert found is not None
    assert found["userId"] == 7
    payload = jwt.decode(tokens.issue(7), options={"verify_signature": False})
    assert payload["sub"] == "7"


@pytest.mark.parametrize("subject", ["ada", "", "07", "1.0", "9" * 30])
def test_a_user_id_of_another_type_is_refused(subject: str) -> None:
    assert make(user_id_type="integer").verify(signed({"sub": subject})) is None


@pytest.mark.parametrize("cached", [True, False])
def test_a_token_ends_at_its_time(cached: bool) -> None:
    clock = Clock(START)
    tokens = make(clock)
    token = tokens.issue("u1")
    if cached:
        assert tokens.verify(token)
    clock.move(59)
    assert tokens.verify(token) if cached else True
    clock.move(1)
    assert tokens.verify(token) is None
    assert tokens.verify(token) is None


def test_a_token_may_have_its_own_time() -> None:
    clock = Clock(START)
    tokens = make(clock)
    token = tokens.issue("u1", expires_seconds=5)
    clock.move(6)
    assert tokens.verify(token) is None


@pytest.mark.parametrize(
    "payload",
    [
        {"exp": None},
        {"sub": None},
        {"sub": 1.5},
        {"sub": True},
        {"jti": ["1"]},
        {"iat": int(START.timestamp()) + 11},
        {"exp": int(START.timestamp())},
        {"exp": "9999999999"},
        {"exp": 10**400},
        {"exp": True},
        {"exp": float("nan")},
        {"nbf": int(START.timestamp()) + 11},
        {"nbf": "soon"},
        {"aud": "someone-else"},
    ],
)
def test_a_token_without_sound_claims_is_refused(payload: dict[str, Any]) -> None:
    assert make().verify(signed(payload)) is None


@pytest.mark.parametrize(
    "payload",
    [
        {"nbf": START.timestamp() + 0.9},
        {"nbf": int(START.timestamp()) + 10, "iat": int(START.timestamp()) + 10},
        {"jti": 7},
        {"iat": "soon"},
    ],
)
def test_clocks_may_differ_by_ten_seconds_and_ids_be_integers(payload: dict[str, Any]) -> None:
    assert make().verify(signed(payload))


def test_an_integer_subject_is_read_as_text() -> None:
    found = make().verify(signed({"sub": 7}))
    assert found is not None
    assert found["userId"] == "7"
    number = make(user_id_type="integer").verify(signed({"sub": 7}))
    assert number is not None
    assert number["userId"] == 7


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        ({"exp": int(START.timestamp())}, "'exp' is in the past"),
        ({"exp": "soon"}, "'exp' is not a time in seconds"),
        ({"exp": None}, "'exp' is missing"),
        ({"nbf": int(START.timestamp()) + 11}, "'nbf' is more than 10 s ahead"),
        ({"iat": int(START.timestamp()) + 11}, "'iat' is more than 10 s ahead"),
        ({"sub": None}, "'sub' is missing"),
        ({"sub": 1.5}, "'sub' is not a text"),
        ({"aud": "someone-else"}, "'aud' does not have the 'audience' of project.yaml"),
    ],
)
def test_the_claim_that_failed_is_known(payload: dict[str, Any], reason: str) -> None:
    tokens = make()
    assert tokens.verify(signed(payload)) is None
    assert tokens.rejection == reason


def test_issuer_and_audience_must_be_ours() -> None:
    tokens = make(issuer="us", audience="app")
    assert tokens.verify(tokens.issue("u1"))
    assert tokens.verify(signed({"iss": "us", "aud": "other"})) is None
    assert tokens.verify(signed({"iss": "them", "aud": "app"})) is None
    assert tokens.verify(signed({"aud": "app"})) is None
    assert tokens.verify(signed({"iss": "us"})) is None


def test_another_key_is_refused() -> None:
    assert make().verify(make(key="x" * 64).issue("u1")) is None


def test_only_the_configured_algorithm_counts() -> None:
    token = signed({}, algorithm="HS512")
    assert make().verify(token) is None
    assert make(algorithm="HS512").verify(token)


def test_a_token_that_signs_nothing_is_refused() -> None:
    def part(value: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    payload = part({"sub": "1", "exp": 9_999_999_999})
    for algorithm in ("none", "None", "NONE"):
        assert make().verify(f"{part({'alg': algorithm, 'typ': 'JWT'})}.{payload}.") is None
    assert make().verify(f"{part({'alg': 'HS256'})}.{payload}.") is None


def test_a_public_key_is_no_shared_secret() -> None:
    private, public = pem(rsa_key())
    tokens = make(key=private, algorithm="RS256")
    header = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
    body = jwt.encode({"sub": "1", "exp": 9_999_999_999}, KEY, "HS256").split(".")[1]
    mac = hmac.digest(public.encode(), f"{header}.{body}".encode(), hashlib.sha256)
    forged = f"{header}.{body}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"
    assert tokens.verify(forged) is None


@pytest.mark.parametrize(
    ("algorithm", "private"),
    [
        ("RS256", rsa_key),
        ("ES256", p256_key),
        ("EdDSA", ed25519_key),
    ],
)
def test_a_private_key_issues_what_its_public_key_verifies(algorithm: str, private: Any) -> None:
    secret, public = pem(private())
    token = make(key=secret, algorithm=algorithm).issue("u1")
    assert make(key=secret, algorithm=algorithm).verify(token)
    verifier = make(key=public, algorithm=algorithm)
    assert verifier.verify(token)
    with pytest.raises(FlowError, match="only verify"):
        verifier.issue("u1")


@pytest.mark.parametrize("token", ["", ".", "..", "a.b.c", "é", "\ud800", "\0", "." * 8_000])
def test_garbage_is_refused(token: str) -> None:
    assert make().verify(token) is None


@given(st.text())
def test_no_text_makes_a_check_raise(text: str) -> None:
    assert make().verify(text) is None


def test_a_token_over_eight_kib_is_neither_read_nor_issued() -> None:
    tokens = make()
    assert tokens.verify(signed({"x": "y" * 9_000})) is None
    with pytest.raises(FlowError, match="the token is too long"):
        tokens.issue("u1", claims={"x": "y" * 9_000})


def test_deeply_nested_claims_are_refused() -> None:
    part = base64.urlsafe_b64encode(b'{"a":' + b"[" * 5_000).decode().rstrip("=")
    assert make().verify(f"{part}.{part}.x") is None


@pytest.mark.parametrize("name", ["sub", "exp", "iss", "role", "email"])
def test_a_claim_cannot_take_a_registered_name(name: str) -> None:
    with pytest.raises(FlowError, match=f"registered name: '{name}'"):
        make().issue("u1", claims={name: "x"})


def test_claims_may_hold_every_value() -> None:
    tokens = make()
    found = tokens.verify(tokens.issue("u1", claims={"at": START, "sum": Decimal("1.5")}))
    assert found is not None
    assert found["claims"] == {"at": "2026-03-05T12:00:00Z", "sum": "1.5"}


@pytest.mark.parametrize("user_id", [None, True, 1.5, [], {}])
def test_a_user_id_is_text_or_a_whole_number(user_id: Any) -> None:
    with pytest.raises(FlowError, match="'userId' needs text or a whole number"):
        make().issue(user_id)


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bbops.runtime.auth.tokens._MAX_CACHED", 3)
    tokens = make()
    issued = [tokens.issue(number) for number in range(10)]
    for token in issued:
        assert tokens.verify(token)
    assert len(tokens._verified) == 3
    assert tokens.verify(issued[0])


@pytest.mark.parametrize(
    ("algorithm", "key"),
    [("none", KEY), ("HS1", KEY), ("HS256", ""), ("HS256", "k" * 31), ("HS512", "k" * 63),
     ("RS256", KEY), ("HS256", PEM)],
)  # fmt: skip
def test_a_key_that_does_not_fit_fails_at_once(algorithm: str, key: str) -> None:
    with pytest.raises(ValueError, match=r"the key|is not one of"):
        make(key=key, algorithm=algorithm)


def test_messages_never_hold_the_key() -> None:
    with pytest.raises(ValueError) as caught:
        make(key="hunter2")
    assert "hunter2" not in str(caught.value)
