"""Sign-ins in cookies: set, sent, renewed, cleared, and of no use to pages of others."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bbops.compiler.testing.client import Client
from bbops.compiler.testing.host import StillClock
from bbops.runtime.http.authorization import check_name
from bbops.runtime.http.rate_limits import NameLimits, SlidingWindow
from bbops.runtime.values.failures import Thrown
from tests.conftest import Serving
from tests.support.contracts import contract_of
from tests.support.cookies import Browser
from tests.support.raw_requests import talk, token
from tests.support.session_project import project, signed_in, tell


def test_login_answers_with_cookies_instead_of_fields(serving: Serving) -> None:
    async def story(browser: Browser) -> Any:
        return await browser.ask("POST", "/api/login", {"user": "ada"})

    seen = tell(serving, story)
    assert (seen.status, seen.json) == (200, {"hello": "ada"})
    (session,), (csrf,) = seen.cookies["session"], seen.cookies["csrf"]
    assert (session["path"], session["max-age"], session["samesite"]) == ("/", "900", "Lax")
    assert session["httponly"]
    assert session["secure"]
    assert not csrf["httponly"]
    assert csrf.value == seen.header("x-csrf")
    refreshing = seen.cookies["session-refresh"]
    assert [one["path"] for one in refreshing] == ["/api/refresh", "/api/logout"]
    assert all(one["httponly"] and one["max-age"] == str(30 * 86_400) for one in refreshing)
    assert seen.header("cache-control") == "no-store"


def test_another_endpoint_of_the_same_function_answers_with_fields(serving: Serving) -> None:
    async def story(browser: Browser) -> Any:
        return await browser.ask("POST", "/api/plain", {"user": "ada"})

    seen = tell(serving, story)
    assert set(seen.json) == {"token", "refreshToken", "hello"}
    assert seen.cookies == {}


def test_a_refused_login_sets_nothing(serving: Serving) -> None:
    async def story(browser: Browser) -> Any:
        return await browser.ask("POST", "/api/login", {"user": "nobody"})

    seen = tell(serving, story)
    assert (seen.status, seen.json, seen.cookies) == (401, {"error": "no"}, {})


def test_the_cookie_says_who_asks(serving: Serving) -> None:
    async def story(browser: Browser) -> list[Any]:
        await browser.ask("POST", "/api/login", {"user": "ada"})
        found = [await browser.ask("GET", "/api/me", csrf=False)]
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            found.append(await browser.ask(method, "/api/change"))  # noqa: PERF401
        found.append(await browser.ask("POST", "/api/guest"))
        return [one.json for one in found]

    assert tell(serving, story) == ["ada"] * 6


def test_a_header_counts_before_the_cookie(serving: Serving) -> None:
    async def story(browser: Browser) -> list[Any]:
        await browser.ask("POST", "/api/login", {"user": "ada"})
        found = [await browser.ask("POST", "/api/change", headers=token(), csrf=False)]
        bad = {"authorization": "Bearer bad"}
        found.append(await browser.ask("GET", "/api/me", headers=bad))
        return [(one.status, one.json) for one in found]

    first, (status, _) = tell(serving, story)
    assert first == (200, "u1")
    assert status == 401


def test_a_session_goes_on_and_ends(serving: Serving) -> None:
    async def story(browser: Browser) -> list[Any]:
        await browser.ask("POST", "/api/login", {"user": "ada"})
        before = browser.cookie("session-refresh")
        browser.cookies.pop(("session", "/"))  # it has expired
        seen = await browser.ask("POST", "/api/refresh")
        assert (seen.status, seen.json) == (200, {})
        assert browser.cookie("session-refresh") not in {None, before}
        me = await browser.ask("GET", "/api/me")
        changed = await browser.ask("POST", "/api/change")
        out = await browser.ask("POST", "/api/logout")
        return [me.json, changed.status, out.status, browser.cookies]

    assert tell(serving, story) == ["ada", 200, 204, {}]


def test_logout_clears_the_cookies_whatever_it_answers(serving: Serving) -> None:
    async def story(browser: Browser) -> Any:
        await browser.ask("POST", "/api/login", {"user": "ada"})
        for path in ("/api/refresh", "/api/logout"):
            browser.cookies.pop(("session-refresh", path))
        seen = await browser.ask("POST", "/api/logout")
        return seen.status, browser.cookies

    assert tell(serving, story) == (400, {})


def test_a_cookie_lasts_as_long_as_its_token(serving: Serving) -> None:
    async def story(browser: Browser) -> Any:
        return await browser.ask("POST", "/api/login", {"user": "ada", "long": True})

    assert tell(serving, story).cookies["session"][0]["max-age"] == str(30 * 86_400)


def test_a_project_below_a_prefix_keeps_its_cookies_there(serving: Serving) -> None:
    async def story(browser: Browser) -> Any:
        await browser.ask("POST", "/api/login", {"user": "ada"})
        return sorted(browser.cookies), (await browser.ask("POST", "/api/refresh")).status

    paths, status = tell(serving, story, root="/shop")
    assert paths == [
        ("csrf", "/shop"), ("session", "/shop"),
        ("session-refresh", "/shop/api/logout"), ("session-refresh", "/shop/api/refresh"),
    ]  # fmt: skip
    assert status == 200


def test_a_project_chooses_what_its_cookie_is(serving: Serving) -> None:
    async def story(browser: Browser) -> Any:
        return await browser.ask("POST", "/api/login", {"user": "ada"})

    cookie = "{ name: sid, sameSite: Strict, secure: false, domain: example.com, path: /api }"
    seen = tell(serving, story, project(cookie))
    (one,) = seen.cookies["sid"]
    assert seen.cookies["csrf"][0]["path"] == "/"  # where the page is that reads it
    assert (one["domain"], one["path"], one["samesite"]) == ("example.com", "/api", "Strict")
    assert not one["secure"]


def test_no_other_host_can_plant_a_cookie_of_this_name(serving: Serving) -> None:
    async def story(browser: Browser) -> Any:
        return await browser.ask("POST", "/api/login", {"user": "ada"})

    seen = tell(serving, story, project("{ name: __Host-sid }"), root="/shop")
    assert seen.cookies["__Host-sid"][0]["path"] == "/"
    assert "__Secure-sid-refresh" in seen.cookies


def test_a_token_that_no_browser_would_keep_is_an_error(serving: Serving) -> None:
    async def story(browser: Browser) -> Any:
        return await browser.ask("POST", "/api/login", {"user": "ada", "big": "x" * 3_500})

    seen = tell(serving, story)
    assert (seen.status, seen.cookies) == (500, {})


# ---- pages of others
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_change_by_cookie_needs_the_mark_of_its_own_session(
    serving: Serving, method: str
) -> None:
    async def story(client: Client) -> list[int]:
        ada, bob = await signed_in(client), await signed_in(client, "bob")
        clock: Any = client.release.answering.host.clock
        clock.moment += timedelta(seconds=1)
        again = await signed_in(client)
        own = ada.cookie("csrf") or ""
        marks = ["", "x", own[:-1], own[1:], bob.cookie("csrf"), again.cookie("csrf"), own + "x",
                 own.partition(".")[2], "." + own]  # fmt: skip
        sent = [{"sec-fetch-site": "same-origin", "x-csrf": mark or ""} for mark in marks]
        found = [(await ada.ask(method, "/api/change", headers=one)).status for one in sent]
        found.append((await ada.ask(method, "/api/change", csrf=False)).status)
        return [*found, (await ada.ask(method, "/api/change")).status]

    found = talk(serving, project(), story)
    # what stands behind the mark of the access token is that of the refresh token
    assert found == [403, 403, 200, 403, 403, 403, 200, 403, 403, 403, 200]


def test_a_planted_mark_does_not_count(serving: Serving) -> None:
    """A sibling domain plants its own `csrf`, and repeats it: the session is another's."""

    async def story(client: Client) -> int:
        ada, thief = await signed_in(client), await signed_in(client, "thief")
        ada.cookies["csrf", "/"] = thief.cookie("csrf") or ""
        return (await ada.ask("POST", "/api/change")).status

    assert talk(serving, project(), story) == 403


def test_two_session_cookies_are_none(serving: Serving) -> None:
    """One of them was planted; which one stands first is up to whoever planted it."""

    async def story(client: Client) -> list[int]:
        ada, thief = await signed_in(client), await signed_in(client, "thief")
        planted = thief.cookie("session") or ""
        found = []
        for more in [(("cookie", f"session={planted}"),), (("cookie", f"a=b;session={planted}"),)]:
            found.append((await ada.ask("GET", "/api/me", more=more)).status)  # noqa: PERF401
        same = (("cookie", f"session={ada.cookie('session')}"),)
        return [*found, (await ada.ask("GET", "/api/me", more=same)).status]

    assert talk(serving, project(), story) == [401, 401, 200]


def test_refresh_and_logout_by_cookie_need_the_mark_too(serving: Serving) -> None:
    async def story(client: Client) -> list[Any]:
        ada, bob = await signed_in(client), await signed_in(client, "bob")
        stolen = {"sec-fetch-site": "same-origin", "x-csrf": bob.cookie("csrf") or ""}
        found = []
        for path in ("/api/refresh", "/api/logout"):
            found.append((await ada.ask("POST", path, csrf=False)).status)
            found.append((await ada.ask("POST", path, headers=stolen)).status)
        return [*found, (await ada.ask("POST", "/api/refresh")).status, len(ada.cookies)]

    assert talk(serving, project(), story) == [403, 403, 403, 403, 200, 4]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"sec-fetch-site": "cross-site", "origin": "https://evil.example"}, 403),
        ({"sec-fetch-site": "same-site", "origin": "https://evil.example.com"}, 403),
        ({"sec-fetch-site": "cross-site", "origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "cross-site", "origin": "https://app.example.org"}, 200),
        ({"sec-fetch-site": "cross-site", "origin": "https://app.example.org.evil.com"}, 403),
        ({"sec-fetch-site": "cross-site", "origin": "https://evil-app.example.org"}, 403),
        ({"sec-fetch-site": "cross-site", "origin": "http://app.example.org"}, 403),
        ({"sec-fetch-site": "cross-site", "origin": "https://app.example.org:8443"}, 403),
        ({"sec-fetch-site": "same-origin", "origin": "https://app.example.com"}, 200),
        ({"sec-fetch-site": "none"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "https://app.example.com"}, 200),
        ({"origin": "https://app.example.org"}, 200),
        ({}, 200),
    ],
    ids=str,
)
def test_only_pages_of_this_origin_or_a_listed_one_act_by_cookie(
    serving: Serving, headers: dict[str, str], status: int
) -> None:
    async def story(client: Client) -> list[int]:
        ada = await signed_in(client)
        found = []
        for path, body in {"/api/change": None, "/api/guest": None, "/api/refresh": None,
                           "/api/login": {"user": "eve"}}.items():  # fmt: skip
            found.append((await ada.ask("POST", path, body, headers=headers)).status)
        return [*found, (await ada.ask("GET", "/api/me", headers=headers)).status]

    assert talk(serving, project(), story) == [status] * 4 + [200]


def test_without_a_csrf_header_pages_of_others_are_refused_all_the_same(serving: Serving) -> None:
    async def story(client: Client) -> list[int]:
        ada = await signed_in(client)
        evil = {"sec-fetch-site": "cross-site", "origin": "https://evil.example"}
        found = [await ada.ask("POST", "/api/change", headers=evil)]
        return [one.status for one in [*found, await ada.ask("POST", "/api/change")]]

    assert talk(serving, project(csrf=""), story) == [403, 200]


def test_a_login_leaves_nothing_of_the_session_before(serving: Serving) -> None:
    async def story(browser: Browser) -> Any:
        await browser.ask("POST", "/api/login", {"user": "eve"})
        planted = dict(browser.cookies)
        await browser.ask("POST", "/api/login", {"user": "ada"})
        kept = planted.items() & browser.cookies.items()
        await browser.ask("POST", "/api/login", {"user": "bob", "long": True})
        me = (await browser.ask("GET", "/api/me")).json
        return kept, sorted(name for name, _ in browser.cookies), me

    assert tell(serving, story) == (set(), ["csrf", "session"], "bob")


def test_a_page_of_a_listed_origin_reads_the_mark_from_the_answer(serving: Serving) -> None:
    async def story(browser: Browser) -> Any:
        origin = {"origin": "https://app.example.org", "sec-fetch-site": "cross-site"}
        return await browser.ask("POST", "/api/login", {"user": "ada"}, headers=origin)

    seen = tell(serving, story)
    assert "x-csrf" in (seen.header("access-control-expose-headers") or "")
    assert seen.header("access-control-allow-credentials") == "true"
    assert seen.header("access-control-allow-origin") == "https://app.example.org"


# ---- what else knows of it
def test_the_contract_says_what_is_answered() -> None:
    operations = {one.id: one for one in contract_of(project()).operations}
    login = next(one for one in operations["login"].answers if one.status == 200)
    assert "set-cookie" in login.headers
    assert "token" not in str(login.schema)
    assert operations["refresh"].body is not None
    assert not operations["refresh"].body.required
    for name in ("change", "refresh", "logout", "login", "guest"):
        assert 403 in {one.status for one in operations[name].answers}
    marked = {
        one.id for one in operations.values() for each in one.parameters if each.name == "X-CSRF"
    }
    assert marked == {"change", "put", "patch", "delete", "refresh", "logout", "guest"}


# ---- guessing
def test_who_guesses_passwords_is_slowed_down(serving: Serving) -> None:
    async def story(client: Client) -> list[int]:
        clock: Any = client.release.answering.host.clock

        async def attempt(user: str) -> int:
            return (await client.ask("POST", "/api/login", {"user": user})).status

        guesses = [await attempt(name) for name in ["nobody"] * 10 + ["Nobody", " nobody"]]
        others = [await attempt(f"u{number}") for number in range(20)]
        clock.moment += timedelta(minutes=2)
        return [*guesses, others.count(200), others.count(429), await attempt("nobody")]

    found = talk(serving, project(), story)
    assert found == [401] * 10 + [429, 429] + [18, 2, 401]


def statuses(
    serving: Serving, names: list[str], peers: list[str] | None = None, limit: int = 0
) -> list[int]:
    """Return what each attempt to sign in gets, from one address or from one each."""

    async def story(client: Client) -> list[int]:
        return [
            (await client.ask("POST", "/api/login", {"user": name}, peer=peer)).status
            for name, peer in zip(names, peers or ["192.0.2.1"] * len(names), strict=True)
        ]

    files = project()
    if limit:
        files["channels/web.yaml"] += f"rateLimit: {limit}\n"
    return talk(serving, files, story)


def test_a_limit_of_the_channel_counts_an_address_instead(serving: Serving) -> None:
    assert statuses(serving, [f"n{at}" for at in range(15)], limit=14) == [200] * 14 + [429]


def test_a_name_is_guarded_also_where_the_channel_has_a_limit(serving: Serving) -> None:
    assert statuses(serving, ["nobody"] * 12, limit=100) == [401] * 10 + [429] * 2


def test_who_guesses_from_one_address_keeps_nobody_out(serving: Serving) -> None:
    peers = ["192.0.2.1"] * 150 + ["192.0.2.2"]
    found = statuses(serving, ["u1"] * 151, peers, limit=1_000)
    assert (found[:10], set(found[10:150]), found[150]) == ([200] * 10, {429}, 200)


def test_a_password_is_not_guessed_from_many_addresses(serving: Serving) -> None:
    peers = [f"192.0.2.{at // 10}" for at in range(110)]
    assert statuses(serving, ["nobody"] * 110, peers, limit=1_000) == [401] * 100 + [429] * 10


def test_a_name_is_not_hidden_by_another_field_beside_it() -> None:
    clock = StillClock()
    limits = NameLimits(SlidingWindow(10, clock), SlidingWindow(100, clock))

    def attempt(number: int) -> int:
        try:
            check_name(limits, {"email": f"decoy{number}", "username": "victim"}, {"client": None})
        except Thrown as thrown:
            return thrown.status
        return 200

    assert [attempt(number) for number in range(12)] == [200] * 10 + [429] * 2
