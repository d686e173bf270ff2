"""What somebody without a token, or with one of another, tries: none of it gets in."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.compiler.testing.client import Client
from bbops.compiler.testing.host import StillClock
from bbops.runtime.auth.tokens import Tokens
from tests.conftest import Serving
from tests.support.cookies import Browser
from tests.support.raw_requests import KEY, NOW, raw_ask, routes, talk, token
from tests.support.session_project import project, signed_in

WHO = "steps:\n  - return: { value: '${ vars.auth.userId }' }\n"
FILES = routes("GET /who who JWT", "POST /who who JWT", who=WHO)
CLAIMS = {"sub": "u1", "exp": NOW + 60}


def part(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def forged(head: object, claims: object = CLAIMS, key: str = KEY) -> str:
    """Return a token whose head may say anything, signed with the right key."""
    text = f"{part(head)}.{part(claims)}"
    mac = hmac.new(key.encode(), text.encode(), hashlib.sha256).digest()
    return f"{text}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


GOOD = forged({"alg": "HS256", "typ": "JWT"})
HEADS: Mapping[str, object] = {
    "none": {"alg": "none"}, "None": {"alg": "None"}, "NONE": {"alg": "NONE"},
    "no alg": {"typ": "JWT"}, "empty alg": {"alg": ""}, "list alg": {"alg": ["HS256"]},
    "null alg": {"alg": None}, "lower alg": {"alg": "hs256"}, "blank alg": {"alg": "HS256 "},
    "other alg": {"alg": "HS512"}, "asymmetric alg": {"alg": "RS256"}, "number alg": {"alg": 256},
    "crit": {"alg": "HS256", "crit": ["exp"]}, "empty crit": {"alg": "HS256", "crit": []},
    "b64": {"alg": "HS256", "b64": False, "crit": ["b64"]},
    "kid list": {"alg": "HS256", "kid": ["a"]}, "kid number": {"alg": "HS256", "kid": 7},
    "kid map": {"alg": "HS256", "kid": {"$ne": ""}},
    "kid too long": {"alg": "HS256", "kid": "a" * 201},
    "no map": ["HS256"], "text": "HS256",
}  # fmt: skip
IGNORED: Mapping[str, object] = {
    "a path": {"alg": "HS256", "kid": "../../../../dev/null"},
    "SQL": {"alg": "HS256", "kid": "x' UNION SELECT 'key"},
    "a shell": {"alg": "HS256", "kid": "|cat /etc/passwd"},
    "an address": {"alg": "HS256", "kid": "http://169.254.169.254/latest/meta-data"},
    "zero": {"alg": "HS256", "kid": "\0"},
    "jku": {"alg": "HS256", "jku": "https://evil.example/keys"},
    "x5u": {"alg": "HS256", "x5u": "https://evil.example/cert"},
    "jwk": {"alg": "HS256", "jwk": {"kty": "oct", "k": part("evil")}},
}  # fmt: skip


def status(serving: Serving, *tokens: str) -> list[int]:
    async def story(client: Client) -> list[int]:
        asked = [
            await client.ask("GET", "/who", headers={"authorization": f"Bearer {one}"})
            for one in tokens
        ]
        return [one.status for one in asked]

    found: list[int] = talk(serving, FILES, story)
    return found


def test_the_forge_makes_good_tokens_too(serving: Serving) -> None:
    assert status(serving, GOOD) == [200]


def test_no_head_talks_its_way_in(serving: Serving) -> None:
    unsigned = [forged(head).rpartition(".")[0] + "." for head in HEADS.values()]
    tokens = [*(forged(head) for head in HEADS.values()), *unsigned]
    assert set(status(serving, *tokens)) == {401}


def test_what_a_head_says_of_its_key_changes_nothing(serving: Serving) -> None:
    """With the right key it is good, with one that the head brings along it is not."""
    assert set(status(serving, *(forged(head) for head in IGNORED.values()))) == {200}
    evil = [forged(head, key=key) for head in IGNORED.values() for key in ("", "evil", "\0")]
    assert set(status(serving, *evil)) == {401}


@pytest.mark.parametrize(
    "claims",
    [
        {**CLAIMS, "exp": NOW}, {**CLAIMS, "exp": NOW - 1}, {**CLAIMS, "nbf": NOW + 60},
        {**CLAIMS, "exp": None}, {**CLAIMS, "exp": "9999999999"}, {**CLAIMS, "exp": 1e400},
        {**CLAIMS, "exp": True}, {**CLAIMS, "nbf": "soon"}, {"sub": "u1"}, {"exp": NOW + 60},
        {**CLAIMS, "sub": None}, {**CLAIMS, "sub": 7.5}, {**CLAIMS, "aud": "other"},
        {**CLAIMS, "sub": {"$gt": ""}}, [], "x", 7, None,
    ],
    ids=repr,
)  # fmt: skip
def test_claims_that_do_not_hold_do_not_count(serving: Serving, claims: Any) -> None:
    assert status(serving, forged({"alg": "HS256"}, claims)) == [401]


@pytest.mark.parametrize(
    "changed",
    [
        GOOD[:-1], GOOD + "A", GOOD[:-2] + ("AA" if not GOOD.endswith("AA") else "BB"), GOOD + ".",
        GOOD + "." + GOOD, "." + GOOD, GOOD.replace(".", ".."), GOOD.partition(".")[2], "..", ".",
        "x" * 8_193, GOOD + " " * 3 + "x", f"{GOOD}, {GOOD}", GOOD.rpartition(".")[0],
        GOOD.rpartition(".")[0] + ".", "\xff" * 20, "null", "undefined", "{}",
    ],
    ids=lambda text: text[:12],
)  # fmt: skip
def test_a_changed_token_is_none(serving: Serving, changed: str) -> None:
    assert status(serving, changed) == [401]


@given(st.dictionaries(st.sampled_from(["alg", "kid", "typ", "crit", "jku", "cty", "b64"]),
                       st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=20),
                                 st.lists(st.text(max_size=5), max_size=3))))  # fmt: skip
def test_no_head_makes_another_key_good(head: dict[str, Any]) -> None:
    tokens = Tokens(KEY, algorithm="HS256", expires_seconds=60, clock=StillClock())
    assert tokens.verify(forged(head, key="another-key-of-more-than-32-characters")) is None


def test_headers_and_cookies_that_come_twice_let_nobody_else_in(serving: Serving) -> None:
    good, bad = token()["authorization"], "Bearer bad"

    async def story(client: Client) -> list[int]:
        given = [[bad, good], [good, bad], ["Basic YTpi", good], [f"{bad}, {good}"]]
        return [
            (await raw_ask(client, "GET", "/who", headers=[("authorization", v) for v in one]))[0]
            for one in given
        ]

    assert talk(serving, FILES, story) == [401, 200, 401, 401]


# ---- forms, and sessions that somebody prepared
@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_a_form_of_another_page_changes_nothing(serving: Serving, kind: str) -> None:
    """Forms may be sent without asking, with cookies: old browsers say `origin` alone."""

    async def story(client: Client) -> list[int]:
        ada = await signed_in(client)
        evil = {"origin": "https://evil.example", "content-type": kind}
        old = await ada.ask("POST", "/api/change", {"a": "="}, headers=evil, csrf=False)
        new = await ada.ask(
            "POST", "/api/change", {"a": "="}, csrf=False,
            headers=evil | {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
        )  # fmt: skip
        return [old.status, new.status]

    assert talk(serving, project(), story) == [403, 403]


def test_a_session_that_was_planted_before_login_is_of_no_use_after(serving: Serving) -> None:
    async def story(client: Client) -> Any:
        thief = await signed_in(client, "thief")
        ada = Browser(client)
        for place in (("session", "/"), ("csrf", "/"), ("session-refresh", "/api/refresh")):
            ada.cookies[place] = thief.cookies[place]
        await ada.ask("POST", "/api/login", {"user": "ada"})
        shared = set(thief.cookies.values()) & set(ada.cookies.values())
        me = [(await one.ask("GET", "/api/me")).json for one in (thief, ada)]
        renewed = [(await one.ask("POST", "/api/refresh")).status for one in (thief, ada)]
        return shared, me, renewed

    assert talk(serving, project(), story) == (set(), ["thief", "ada"], [200, 200])


def test_a_method_that_a_header_asks_for_is_not_the_requests_own(serving: Serving) -> None:
    async def story(client: Client) -> list[int]:
        ada = await signed_in(client)
        asked = {"sec-fetch-site": "cross-site", "x-http-method-override": "GET"}
        found = [await ada.ask("POST", "/api/change", headers=asked)]
        found.append(await ada.ask("HEAD", "/api/me", headers=asked))
        return [one.status for one in found]

    assert talk(serving, project(), story) == [403, 200]


def test_a_mark_is_nothing_that_leads_to_its_token(serving: Serving) -> None:
    async def story(client: Client) -> Any:
        ada = await signed_in(client)
        mark, session = ada.cookie("csrf") or "", ada.cookie("session") or ""
        as_token = {"authorization": f"Bearer {mark}"}
        claims = jwt.decode(session, options={"verify_signature": False})
        return (await ada.ask("GET", "/api/me", headers=as_token)).status, mark in str(claims)

    assert talk(serving, project(), story) == (401, False)


# ---- origins
CHANNEL = """
name: A
basePath: /api
authentication: None
cors: { origins: ['https://App.example.com', 'https://b.example.com:8443'], credentials: true }
"""


@pytest.mark.parametrize(
    ("origin", "is_allowed"),
    [
        ("https://app.example.com", True), ("https://b.example.com:8443", True),
        ("null", False), ("", False), ("*", False), ("https://app.example.com.evil.com", False),
        ("https://evilapp.example.com", False), ("http://app.example.com", False),
        ("https://app.example.com:443", False), ("https://b.example.com", False),
        ("https://app.example.com/", False), ("https://app.example.com@evil.com", False),
        ("https://app_example.com", False), ("https://sub.app.example.com", False),
        ("https://APP.example.com", False), ("https://app.example.com%00.evil.com", False),
        ("https://app.example.com\tevil", False), ("file://", False),
        ("chrome-extension://abc", False),
    ],
)  # fmt: skip
def test_only_a_listed_origin_reads_answers(
    serving: Serving, origin: str, *, is_allowed: bool
) -> None:
    async def story(client: Client) -> list[Any]:
        given = {"origin": origin}
        plain = await client.ask("GET", "/api/x", headers=given)
        asked = given | {"access-control-request-method": "GET"}
        preflight = await client.ask("OPTIONS", "/api/x", headers=asked)
        return [one.headers for one in (plain, preflight)]

    files = routes("GET /x f None", f="steps:\n  - return: { value: 1 }\n", channel=CHANNEL)
    for headers in talk(serving, files, story):
        found = headers.get("access-control-allow-origin")
        assert found == (origin if is_allowed else None)
        assert ("access-control-allow-credentials" in headers) == is_allowed
        assert "origin" in headers["vary"]


# ---- API keys
KEYS = "name: A\nbasePath: /api\nauthentication: API Key\nrateLimit: 5\n"


def test_guesses_at_keys_are_counted_by_address(serving: Serving) -> None:
    async def story(client: Client) -> list[int]:
        guesses = [f"bk_{number:040d}" for number in range(8)]
        asked = [await client.ask("GET", "/api/x", headers={"x-api-key": one}) for one in guesses]
        return [one.status for one in asked]

    files = routes("GET /x f -", f="steps:\n  - return: { value: 1 }\n", channel=KEYS)
    assert talk(serving, files, story) == [401] * 5 + [429] * 3
