"""What somebody may try with the sign-in at providers: none of it makes a session."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jwt
import pytest

from bbops.runtime.identities.kinds import read_email
from bbops.runtime.identities.started import is_return_path
from tests.support.cookies import Browser, Seen
from tests.support.provider import CLIENT, SECRET, TestProvider
from tests.support.sign_in import (
    BROWSERS_OWN,
    SignIns,
    apple_key,
    go,
    project,
    sign_ins,
    who,
    whole,
)
from tests.support.signing_keys import other_rsa_key, p256_key


@pytest.fixture
def there() -> Iterator[TestProvider]:
    provider = TestProvider()
    yield provider
    provider.close()


@pytest.fixture
def here(there: TestProvider, tmp_path: Path) -> Iterator[SignIns]:
    with sign_ins(tmp_path, project(there)) as found:
        yield found
        assert not found.has_nobody or found.users() == []
        assert SECRET not in str(found.log.lines)


def refused(here: SignIns, answer: Seen, browser: Browser, *statuses: int) -> None:
    """Hold that nobody was signed in, and nothing made."""
    assert answer.status in (statuses or (400,)), answer
    assert "session" not in answer.cookies
    here.has_nobody = True
    kept = str(answer.json) + str(here.log.lines)
    assert SECRET not in kept
    assert "Traceback" not in kept


# ---- the way back
@pytest.mark.parametrize("change", [
    {"state": None}, {"state": ""}, {"state": "x" * 43}, {"state": "é"}, {"code": None},
    {"code": ""}, {"code": "guessed"}, {"code": "x" * 5_000}, {"error": "server_error"},
    {"iss": "https://evil.example"}, {"iss": ""},
], ids=str)  # fmt: skip
def test_what_is_brought_back_must_be_what_was_sent(
    here: SignIns, change: dict[str, str | None]
) -> None:
    async def story() -> None:
        browser = Browser(here.client())
        refused(here, await (await go(browser, "corp")).come(**change), browser)
        assert await who(browser) is None

    here.run(story)


def test_an_answer_for_another_browser_is_worth_nothing(here: SignIns) -> None:
    """An attacker's own code, sent to a victim: they would work in the attacker's account."""

    async def story() -> None:
        client = here.client()
        evil, victim = Browser(client), Browser(client)
        away = await go(evil, "corp")
        away.browser = victim  # without any cookie
        refused(here, await away.come(), victim)
        mine = await go(victim, "corp")  # with one of a sign-in of their own
        away.browser = victim
        refused(here, await away.come(), victim)
        assert mine.asked["state"] != away.asked["state"]

    here.run(story)


def test_a_cookie_that_a_sibling_has_planted_is_not_taken(here: SignIns) -> None:
    async def story() -> None:
        client = here.client()
        evil, victim = Browser(client), Browser(client)
        away = await go(evil, "corp")
        await go(victim, "corp")
        ((name, _),) = victim.cookies
        victim.cookies[name, "/~auth"] = evil.cookie(name) or ""
        away.browser = victim
        refused(here, await away.come(), victim)

    here.run(story)


@pytest.mark.parametrize("change", ["cut", "flip", "other return", "later", "no dots"])
def test_a_cookie_of_ones_own_making_is_refused(here: SignIns, change: str) -> None:
    async def story() -> None:
        browser = Browser(here.client())
        away = await go(browser, "corp")
        ((key, value),) = browser.cookies.items()
        parts = value.split(".")
        if change == "later":
            parts[1] = str(int(parts[1]) + 5)
        if change == "other return":
            parts[2] = base64.urlsafe_b64encode(b"//evil.example").decode().rstrip("=")
        browser.cookies[key] = {
            "cut": value[:-1], "flip": value[:-1] + ("A" if value[-1] != "A" else "B"),
            "no dots": value.replace(".", ""),
        }.get(change, ".".join(parts))  # fmt: skip
        refused(here, await away.come(), browser)

    here.run(story)


def test_a_code_is_good_once_even_where_the_provider_forgets_that(
    here: SignIns, there: TestProvider
) -> None:
    there.keeps_codes = True

    async def story() -> tuple[Seen, Seen]:
        browser = Browser(here.client())
        away = await go(browser, "corp")
        kept = dict(browser.cookies)
        first = await away.come()
        browser.cookies = kept  # as who has copied all that the browser had
        return first, await away.come()

    first, second = here.run(story)
    assert (first.status, second.status) == (303, 400)
    assert "session" not in second.cookies


def test_two_who_come_back_with_one_sign_in_are_one(here: SignIns, there: TestProvider) -> None:
    there.keeps_codes = True

    async def story() -> list[int]:
        client = here.client()
        away = await go(Browser(client), "corp")
        twins = [Browser(client, dict(away.browser.cookies)) for _ in range(5)]
        found = []
        for twin in twins:
            away.browser = twin
            found.append(asyncio.ensure_future(away.come()))
            await asyncio.sleep(0)
        return sorted([one.status for one in await asyncio.gather(*found)])

    assert here.run(story) == [303, 400, 400, 400, 400]


def test_one_person_in_two_tabs_gets_one_account(here: SignIns) -> None:
    async def story() -> list[int]:
        client = here.client()
        every = await asyncio.gather(*(go(Browser(client), "corp") for _ in range(4)))
        return [one.status for one in await asyncio.gather(*(one.come() for one in every))]

    assert here.run(story) == [303] * 4
    assert len(here.users()) == 1


def test_a_sign_in_at_one_provider_is_none_at_another(here: SignIns) -> None:
    """Mix-up: what an honest provider has given is brought to the route of another one."""

    async def story() -> None:
        browser = Browser(here.client())
        away = await go(browser, "corp")
        await go(browser, "google")
        away.name = "google"
        refused(here, await away.come(), browser)

    here.run(story)


def test_a_sign_in_at_a_draft_is_none_at_what_is_live(here: SignIns) -> None:
    """They may have one signing key, and one host."""

    async def story() -> None:
        live, draft = here.client(), here.client("https://shop.example.com/v1/~drafts/x")
        evil = Browser(draft)
        away = await go(evil, "corp")
        assert "/~drafts/x/~auth/" in away.asked["redirect_uri"]
        evil.client = live
        for name in ("bbops-auth", (await go(Browser(live), "corp")).browser.cookies):
            if not isinstance(name, str):
                ((wanted, path),) = name
                evil.cookies[wanted, path] = next(iter(evil.cookies.values()))
            refused(here, await away.come(), evil)

    here.run(story)


def test_a_host_that_a_client_names_is_nobody(here: SignIns) -> None:
    async def story() -> str:
        browser = Browser(here.client())
        more = (("x-forwarded-host", "evil.example"), ("forwarded", "host=evil.example"))
        answer = await browser.ask("GET", "/~auth/corp", headers=BROWSERS_OWN, more=more)
        return str(answer.header("location"))

    found = here.run(story)
    assert "evil" not in found
    assert "shop.example.com" in found


RETURNS = [
    "https://evil.example/", "//evil.example", "/\\evil.example", "\\/evil.example", "evil",
    "/%0d%0aset-cookie:a=b\r\n", "/\t/evil.example", "javascript:alert(1)", "/ /x", "/é", "",
    "/~auth/corp", "/~drafts/x", "/" + "x" * 1_000, "///evil.example", "/\0",
]  # fmt: skip


@pytest.mark.parametrize("back", RETURNS)
def test_nobody_is_led_to_another_site(here: SignIns, back: str) -> None:
    async def story() -> Seen:
        browser = Browser(here.client())
        return await browser.ask("GET", f"/~auth/corp?return={quote(back)}", headers=BROWSERS_OWN)

    answer = here.run(story)
    assert (answer.status, is_return_path(back)) == (400, False)
    assert answer.json["error"]["fields"]["return"]


def test_two_returns_are_none(here: SignIns) -> None:
    async def story() -> Seen:
        browser = Browser(here.client())
        return await browser.ask("GET", "/~auth/corp?return=/a&return=/b", headers=BROWSERS_OWN)

    assert here.run(story).status == 400


# ---- the ID token
@pytest.mark.parametrize("change", [
    {"aud": "another"}, {"aud": [CLIENT, "another"]}, {"azp": "another"}, {"aud": None},
    {"iss": "https://evil.example"}, {"iss": None}, {"nonce": "another"}, {"nonce": None},
    {"nonce": 1}, {"exp": 1_700_000_000}, {"exp": None}, {"exp": "tomorrow"},
    {"exp": float("nan")}, {"iat": 4_000_000_000}, {"iat": None}, {"nbf": 4_000_000_000},
    {"sub": None}, {"sub": ""}, {"sub": 7}, {"sub": "x" * 300}, {"sub": ["17"]},
], ids=str)  # fmt: skip
def test_an_id_token_that_is_not_for_this_sign_in_is_refused(
    here: SignIns, there: TestProvider, change: dict[str, Any]
) -> None:
    there.change = change

    async def story() -> None:
        answer, browser = await whole(here.client(), "corp")
        refused(here, answer, browser)

    here.run(story)


@pytest.mark.parametrize("how", ["another key", "none", "the public key as a secret", "its own"])
def test_an_id_token_that_the_issuer_has_not_signed_is_refused(
    here: SignIns, there: TestProvider, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    real = TestProvider.id_token

    def forged(self: TestProvider, asked: dict[str, str]) -> str:
        claims = jwt.decode(real(self, asked), options={"verify_signature": False})
        if how == "another key":
            return jwt.encode(claims, other_rsa_key(), "RS256", headers={"kid": "k1"})
        if how == "its own":  # a key that the token brings along
            own = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(p256_key().public_key()))
            return jwt.encode(claims, p256_key(), "ES256", headers={"kid": "k1", "jwk": own})
        if how == "none":
            return jwt.encode(claims, None, "none", headers={"kid": "k1"})  # type: ignore[arg-type]
        return jwt.encode(claims, "x" * 64, "HS256", headers={"kid": "k1"})

    monkeypatch.setattr(TestProvider, "id_token", forged)

    async def story() -> None:
        answer, browser = await whole(here.client(), "corp")
        refused(here, answer, browser)

    here.run(story)


@pytest.mark.parametrize("about", [
    {"issuer": "https://evil.example"}, {"token_endpoint": 7}, {"jwks_uri": "ftp://x/"},
    {"token_endpoint": "http://evil.example/token"}, {"authorization_endpoint": None},
    {"token_endpoint": "https://169.254.169.254/latest"},
], ids=str)  # fmt: skip
def test_a_provider_cannot_lead_elsewhere(
    here: SignIns, there: TestProvider, about: dict[str, Any]
) -> None:
    there.about = about

    async def story() -> None:
        browser = Browser(here.client())
        try:
            away = await go(browser, "corp")
        except AssertionError as failed:
            refused(here, failed.args[0], browser, 400, 502)
            return
        refused(here, await away.come(), browser, 400, 502)

    here.run(story)


def test_userinfo_of_somebody_else_is_not_believed(here: SignIns, there: TestProvider) -> None:
    there.change = {"email": None, "sub": "18"}

    async def story() -> None:
        answer, browser = await whole(here.client(), "corp")
        refused(here, answer, browser)

    here.run(story)


def test_a_subject_of_one_issuer_is_nobody_at_another(here: SignIns, there: TestProvider) -> None:
    """`17` at GitHub, and `17` at the company."""
    there.claims = {**there.claims, "sub": "42"}  # the id that the stand-in of GitHub gives

    async def story() -> list[int]:
        client = here.client()
        first, _ = await whole(client, "github")
        there.claims["email"] = "eve@example.com"
        second, _ = await whole(client, "corp")
        return [first.status, second.status]

    assert here.run(story) == [303, 303]
    # the stand-ins of this test share one address: the issuer, not the name, tells them apart
    kept = here.bench.sql("SELECT issuer, subject FROM _bbops_identities")
    assert {subject for _, subject in kept} == {"42"}


# ---- providers that are off, or not ready
def test_a_provider_that_is_gone_signs_nobody_in(here: SignIns, there: TestProvider) -> None:
    async def story() -> Seen:
        browser = Browser(here.client())
        away = await go(browser, "google")
        lines = here.files["project.yaml"].splitlines(keepends=True)
        left = [line for line in lines if "    google:" not in line]
        here.files = {**here.files, "project.yaml": "".join(left)}
        browser.client = here.client()
        begin = await browser.ask("GET", "/~auth/google", headers=BROWSERS_OWN)
        assert begin.status == 404
        return await away.come()

    assert here.run(story).status == 404


def test_without_its_secret_a_provider_says_nothing_of_why(here: SignIns) -> None:
    async def story() -> Seen:
        browser = Browser(here.client(CLIENT_SECRET=""))
        return await browser.ask("GET", "/~auth/corp", headers=BROWSERS_OWN)

    answer = here.run(story)
    assert answer.status == 500
    assert "CLIENT_SECRET" not in str(answer.json)
    assert "has no value of: CLIENT_SECRET" in str(here.log.lines)


def test_a_provider_that_is_away_is_502(here: SignIns, there: TestProvider) -> None:
    there.about = {"authorization_endpoint": "https://login.example.com/a"}
    there.close()

    async def story() -> Seen:
        browser = Browser(here.client())
        return await browser.ask("GET", "/~auth/corp", headers=BROWSERS_OWN)

    answer = here.run(story)
    assert (answer.status, answer.json["error"]["code"]) == (502, "providerUnavailable")
    assert "127.0.0.1" not in str(answer.json)


def test_an_address_asks_so_often_and_no_more(here: SignIns) -> None:
    async def story() -> list[int]:
        browser = Browser(here.client())
        return [
            (await browser.ask("GET", "/~auth/github", headers=BROWSERS_OWN)).status
            for _ in range(31)
        ]

    assert here.run(story) == [303] * 30 + [429]


@pytest.mark.parametrize(("method", "path"), [
    ("POST", "/~auth/corp"), ("POST", "/~auth/corp/callback"), ("GET", "/~auth/apple/callback"),
    ("GET", "/~auth/nobody"), ("GET", "/~auth/"), ("GET", "/~auth/corp/other"),
])  # fmt: skip
def test_other_routes_are_none(here: SignIns, method: str, path: str) -> None:
    async def story() -> int:
        return (await Browser(here.client()).ask(method, path, headers=BROWSERS_OWN)).status

    assert here.run(story) in {404, 405}


@pytest.mark.parametrize(("content_type", "body", "expected"), [
    ("application/json", b"{}", 415), ("", b"", 415),
    ("application/x-www-form-urlencoded", b"a=%ff", 400),
    ("application/x-www-form-urlencoded", b"x=" + b"y" * 20_000, 413),
    ("application/x-www-form-urlencoded", b"&".join([b"state=a"] * 900), 400),
])  # fmt: skip
def test_a_form_that_is_none_is_refused(
    there: TestProvider, tmp_path: Path, content_type: str, body: bytes, expected: int
) -> None:
    with sign_ins(tmp_path, project(there), APPLE_KEY=apple_key()) as here:

        async def story() -> int:
            headers = BROWSERS_OWN | {"content-type": content_type}
            browser = Browser(here.client())
            return (
                await browser.ask("POST", "/~auth/apple/callback", body, headers=headers)
            ).status

        assert here.run(story) == expected


@pytest.mark.parametrize("text", [
    "a@b@c", "@b", "a@", "é@b.c", "\u212a@b.c", "a b@c", "a@b.c\n", "<a@b.c>", "a" * 300 + "@b.c",
    None, 7, ["a@b.c"], "a,b@c.d",
], ids=str)  # fmt: skip
def test_what_is_no_plain_address_is_none(text: object) -> None:
    assert read_email(text) is None
