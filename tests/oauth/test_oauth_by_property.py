"""Whatever is asked of the authorization server, it answers: no text in a request fails it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bbops_server.accounts.book import Book
from bbops_server.mcp.oauth.authlib_request import Answer, Sender
from bbops_server.mcp.oauth.client import allows, is_registrable
from bbops_server.mcp.oauth.consents import SentBack, Unsafe
from bbops_server.mcp.oauth.server import OAuth
from bbops_server.settings import Settings
from tests.support.granting import CHALLENGE, REDIRECT, VERIFIER

NAMES = (
    "client_id", "client_secret", "redirect_uri", "response_type", "grant_type", "scope", "state",
    "code", "code_verifier", "code_challenge", "code_challenge_method", "resource", "token",
    "refresh_token", "device_code", "token_type_hint", "user_code",
)  # fmt: skip
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
odd = st.text(max_size=40) | st.sampled_from([
    "code", "authorization_code", "refresh_token", DEVICE, "S256", "plain", CHALLENGE, VERIFIER,
    REDIRECT, "project", "builder data", "", "\0", '"\\', "é", "\ud800", "a" * 3_000,
])  # fmt: skip


@pytest.fixture(scope="module")
def oauth(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OAuth]:
    folder: Path = tmp_path_factory.mktemp("odd")
    with closing(Book.open(folder)) as book:
        yield OAuth(book, lambda: Settings(folder))


@pytest.fixture(scope="module")
def client(oauth: OAuth) -> str:
    grants = ["authorization_code", "refresh_token", DEVICE]
    asked = {"client_name": "Odd", "redirect_uris": [REDIRECT], "grant_types": grants}
    answer = oauth.register(msgspec.json.encode(asked), Sender())
    assert not isinstance(answer.body, str)
    return str(answer.body["client_id"])


def write(pairs: list[tuple[str, str]], client: str) -> str:
    whole = [(name, value.encode(errors="replace")) for name, value in pairs]
    return urlencode([("client_id", client.encode()), *whole])


pairs = st.lists(st.tuples(st.sampled_from(NAMES) | st.text(max_size=8), odd), max_size=8)
quick = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@quick
@given(pairs=pairs, number=st.integers(0, 10_000), door=st.sampled_from("tdr"))
def test_every_form_is_answered(
    oauth: OAuth, client: str, pairs: list[tuple[str, str]], number: int, door: str
) -> None:
    work = {"t": oauth.give_tokens, "d": oauth.begin_device, "r": oauth.revoke}[door]
    answer = work(write(pairs, client), Sender("192.0.2.1", f"n{number}"))
    assert answer.status in {200, 400, 401, 429}
    assert isinstance(answer, Answer)


@quick
@given(changes=st.dictionaries(st.sampled_from(NAMES), odd, max_size=3))
def test_every_request_for_consent_is_shown_or_sent_to_its_client(
    oauth: OAuth, client: str, changes: dict[str, str]
) -> None:
    right = {
        "redirect_uri": REDIRECT, "response_type": "code", "code_challenge": CHALLENGE,
        "code_challenge_method": "S256", "state": "s",
    }  # fmt: skip
    location = examine(oauth, write(list((right | changes).items()), client))
    assert not location or location.startswith(f"{REDIRECT}?error=")
    assert not location or "iss=" in urlsplit(location).query


def examine(oauth: OAuth, query: str) -> str:
    """Return where a browser is sent back to; empty where a page is shown."""
    try:
        consent = oauth.consents.examine(query)
    except Unsafe:
        return ""
    except SentBack as refused:
        return refused.answer.location
    assert (consent.redirect_uri, len(consent.challenge)) == (REDIRECT, len(CHALLENGE))
    return ""


@quick
@given(body=st.binary(max_size=60) | st.recursive(
    st.none() | st.booleans() | st.integers() | odd, lambda one: st.lists(one, max_size=3) |
    st.dictionaries(st.sampled_from(["redirect_uris", "client_name", "grant_types", "scope", "x"]),
                    one, max_size=4),
).map(lambda one: msgspec.json.encode(one) if not _has_surrogates(one) else b""))  # fmt: skip
def test_every_registration_is_answered(oauth: OAuth, body: bytes) -> None:
    answer = oauth.register(body, Sender(network=body.hex()[:40]))
    assert answer.status in {201, 400, 429}


def _has_surrogates(value: object) -> bool:
    return "\\ud" in repr(value)


@given(one=st.text(max_size=60), end=st.text(max_size=20))
def test_no_address_is_allowed_that_may_not_be_registered(one: str, end: str) -> None:
    for known in (REDIRECT, "http://localhost/cb", one):
        for asked in (one, known + end, f"http://localhost{one}/cb", f"http://localhost:{end}/cb"):
            if is_registrable(known) and asked != known and allows([known], asked):
                assert is_registrable(asked)
                assert urlsplit(asked).hostname == urlsplit(known).hostname
                assert urlsplit(asked).path == urlsplit(known).path
