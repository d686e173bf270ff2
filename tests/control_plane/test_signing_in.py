"""Set-up, sign-in and what keeps forms from others, as a browser sees them."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qs, urljoin, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops_server.accounts.limits import Limit
from bbops_server.accounts.rules import Role
from bbops_server.control_plane.web.visit import local_path
from bbops_server.settings import Access
from tests.support.control import Browser, Tried, fresh, tried
from tests.support.signing_in import ADA, BOB, sign_in

__all__ = ["fresh", "tried"]


# ---- set-up
def set_up(fresh: Tried, browser: Browser) -> int:
    link = fresh.control.setup_url
    browser.get(link)
    (token,) = parse_qs(urlsplit(link).query)["token"]
    return browser.post("/setup", BOB | {"token": token}).status_code


def test_the_first_account_is_made_by_the_link_and_owns_the_server(fresh: Tried) -> None:
    browser = fresh.browser()
    assert set_up(fresh, browser) == 303
    assert browser.call("GET", "/api/whoami").json()["role"] == "owner"
    assert browser.get("/people").status_code == 200


def test_the_set_up_link_is_good_once(fresh: Tried) -> None:
    link = fresh.control.setup_url
    set_up(fresh, fresh.browser())
    again = fresh.browser()
    assert again.get(link).status_code == 403
    (token,) = parse_qs(urlsplit(link).query)["token"]
    again.get("/signin")
    assert again.post("/setup", BOB | {"token": token}).status_code == 403


@pytest.mark.parametrize("token", ["", "bbi_x", "é"])
def test_another_link_sets_nothing_up(fresh: Tried, token: str) -> None:
    assert fresh.browser().get("/setup", params={"token": token}).status_code == 403


def test_until_then_this_machine_may_do_everything_and_nobody_else(fresh: Tried) -> None:
    assert fresh.browser().call("GET", "/api/server").status_code == 200
    assert fresh.browser(**{"x-forwarded-for": "192.0.2.1"}).get("/api/server").status_code == 401
    set_up(fresh, fresh.browser())
    assert fresh.browser().call("GET", "/api/server").status_code == 401


def test_where_others_are_meant_to_come_set_up_is_not_open(tmp_path: Path) -> None:
    tried = Tried(tmp_path, control_shown="https://bbops.example.com")
    assert tried.browser().get("/api/projects").status_code == 401
    here = tried.browser("http://127.0.0.1:8001")
    assert here.get("/api/projects").status_code == 401
    assert here.get(tried.control.setup_url).status_code == 200
    tried.close()


# ---- sign-in
def test_a_password_opens_a_session_and_leads_back(tried: Tried) -> None:
    browser = tried.browser()
    asked = browser.get("/audit?before=7")
    assert asked.headers["location"] == "/signin?return_to=%2Faudit%3Fbefore%3D7"
    page = browser.get(asked.headers["location"])
    assert 'name="return_to" value="/audit?before=7"' in page.text
    answer = browser.post("/signin", ADA | {"return_to": "/audit?before=7"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/audit?before=7")
    assert browser.get("/audit").status_code == 200


@pytest.mark.parametrize("change", [{"password": "wrong"}, {"email": "eve@example.com"}])
def test_who_is_unknown_is_told_the_same_as_by_a_wrong_password(
    tried: Tried, change: dict[str, str]
) -> None:
    browser = tried.browser()
    browser.get("/signin")
    answer = browser.post("/signin", ADA | change)
    assert answer.status_code == 401
    assert "The e-mail address or the password is wrong." in answer.text
    assert "bbops" not in browser.cookies


def test_a_session_cookie_is_for_this_server_and_no_script(tried: Tried, tmp_path: Path) -> None:
    browser = tried.browser()
    browser.get("/signin")
    answer = browser.post("/signin", ADA)
    cookie = answer.headers.get_list("set-cookie")[0].lower()
    assert cookie.startswith("bbops=bbs_")
    assert {"httponly", "path=/", "samesite=lax"} <= set(cookie.split("; "))
    assert "domain" not in cookie


def test_by_https_the_cookie_is_bound_to_the_host(tmp_path: Path) -> None:
    tried = Tried(tmp_path, control_shown="https://bbops.example.com")
    tried.add("ada@example.com", Role.OWNER)
    browser = tried.browser()
    browser.get("/signin")
    answer = browser.post("/signin", ADA)
    cookie = answer.headers.get_list("set-cookie")[0]
    assert cookie.startswith("__Host-bbops=bbs_")
    assert "secure" in cookie.lower()
    assert answer.headers["strict-transport-security"]
    assert browser.get("/people").status_code == 200
    tried.close()


@pytest.mark.parametrize("path", [
    "//evil.example", "https://evil.example", "/\\evil.example", "javascript:x", "", "/a b",
    "/\t/x", "/" + "a" * 3_100,
])  # fmt: skip
def test_nobody_is_led_elsewhere(tried: Tried, path: str) -> None:
    browser = tried.browser()
    browser.get("/signin", params={"return_to": path})
    answer = browser.post("/signin", ADA | {"return_to": path})
    assert answer.headers["location"] == "/"
    assert browser.get("/signin", params={"return_to": path}).headers["location"] == "/"


@given(st.text() | st.from_regex(r"[/\\.:a-z@\t\n%?#]{1,20}"))
def test_no_text_leads_to_another_host(text: str) -> None:
    base = "https://bbops.example.com/signin"
    assert urlsplit(urljoin(base, local_path(text))).netloc == "bbops.example.com"
    assert not re.match(r"[/\\]{2}", local_path(text))


def test_a_session_is_a_new_one_after_each_sign_in(tried: Tried) -> None:
    browser = tried.browser()
    sign_in(browser)
    first = browser.cookies["bbops"]
    page = browser.get("/account")
    assert page.status_code == 200
    browser.post("/signin", ADA)
    assert browser.cookies["bbops"] != first
    browser.cookies.set("bbops", first)
    assert tried.book.sessions.find(first) is None


def test_signing_out_ends_the_session(tried: Tried) -> None:
    browser = tried.as_person("ada@example.com")
    key = browser.cookies["bbops"]
    browser.get("/account")
    assert browser.post("/signout").status_code == 303
    assert tried.book.sessions.find(key) is None


def test_attempts_at_one_account_are_counted(tried: Tried) -> None:
    codes = [sign_in(tried.browser(), password="wrong") for _ in range(11)]
    assert codes == [401] * 10 + [429]
    browser = tried.browser()
    browser.get("/signin")
    answer = browser.post("/signin", ADA | {"email": "ADA@example.com"})
    assert answer.status_code == 429
    assert 0 < int(answer.headers["retry-after"]) <= 300


@pytest.mark.long
def test_attempts_from_elsewhere_do_not_lock_the_owner_out(tmp_path: Path) -> None:
    tried = Tried(tmp_path, access=Access(proxies=("127.0.0.1",)))
    tried.add("ada@example.com", Role.OWNER)
    home = tried.browser(**{"x-forwarded-for": "192.0.2.1"})
    assert sign_in(home) == 303
    attackers = [{"x-forwarded-for": f"198.51.100.{number // 5}"} for number in range(110)]
    codes = [sign_in(tried.browser(**one), password="wrong") for one in attackers]
    assert codes == [401] * 99 + [429] * 11  # with the owner's own a hundred
    assert sign_in(tried.browser(**{"x-forwarded-for": "203.0.113.9"})) == 429
    home.cookies.delete("bbops")
    assert sign_in(home) == 303  # the browser is known
    tried.close()


def test_a_known_browser_may_not_guess_for_ever_nor_for_others(tried: Tried) -> None:
    tried.add("eve@example.com", Role.VIEWER)
    browser = tried.browser()
    assert sign_in(browser) == 303
    browser.cookies.delete("bbops")
    device = browser.cookies["bbops-device"]
    codes = [sign_in(browser, password="wrong") for _ in range(11)]
    assert codes == [401] * 10 + [429]
    assert tried.control.devices.find(device, "ADA@example.com")
    for forged in (device, f"{device[:-1]}x", device.partition(".")[0], "", "." * 300):
        assert tried.control.devices.find(forged, "eve@example.com") == ""


def test_attempts_of_one_address_are_counted(tried: Tried) -> None:
    for _ in range(50):
        assert tried.control.limits.address.take("127.0.0.1") == 0
    assert sign_in(tried.browser()) == 429


@pytest.mark.parametrize(("one", "other", "counts_together"), [
    ("2001:db8::1", "2001:db8::2", True), ("2001:db8::1", "2001:db8:0:1::1", False),
    ("192.0.2.1", "192.0.2.2", False),
])  # fmt: skip
def test_attempts_of_one_house_are_counted_together(
    tmp_path: Path, one: str, other: str, counts_together: bool
) -> None:
    tried = Tried(tmp_path, access=Access(proxies=("127.0.0.1",)))
    tried.add("ada@example.com", Role.OWNER)
    sign_in(tried.browser(**{"x-forwarded-for": one}))
    sign_in(tried.browser(**{"x-forwarded-for": other}))
    assert len(tried.control.limits.address._seen) == (1 if counts_together else 2)
    tried.close()


@pytest.mark.long
def test_strangers_do_not_fill_the_log(tried: Tried) -> None:
    tried.control.limits.anonymous = Limit(2, 3_600)
    for _ in range(4):
        sign_in(tried.browser(), email="eve@example.com")
    assert len(tried.book.audit.list()) == 2
    sign_in(tried.browser(), password="wrong")
    assert tried.book.audit.list()[0].who == "ada@example.com"


def test_a_proxys_word_counts_for_the_address_when_it_is_known(tmp_path: Path) -> None:
    tried = Tried(tmp_path, access=Access(proxies=("127.0.0.1",)))
    tried.add("ada@example.com", Role.OWNER)
    sign_in(tried.browser(**{"x-forwarded-for": "203.0.113.9"}))
    assert tried.book.audit.list()[0].address == "203.0.113.9"
    tried.close()


# ---- CSRF
@pytest.mark.parametrize("csrf", ["", "0" * 64, "é"])
def test_a_form_without_its_token_does_nothing(tried: Tried, csrf: str) -> None:
    browser = tried.as_person("ada@example.com")
    browser.get("/account")
    answer = browser.post("/account/profile", {"csrf": csrf, "name": "Eve"})
    assert answer.status_code == 403
    person = tried.book.people.get("ada@example.com")
    assert person is not None
    assert person.name == "Ada"


def test_the_token_of_another_session_is_none(tried: Tried) -> None:
    one, other = tried.as_person("ada@example.com"), tried.as_person("ada@example.com")
    one.get("/account")
    other.csrf = one.csrf
    assert other.post("/account/profile", {"name": "Eve"}).status_code == 403


def test_a_sign_in_that_no_page_of_ours_began_is_refused(tried: Tried) -> None:
    browser = tried.browser()
    assert browser.post("/signin", ADA).status_code == 403


def test_a_session_calls_the_api_with_the_token_in_a_header(tried: Tried) -> None:
    browser, path = tried.as_person("ada@example.com"), "/api/projects/small/reconcile"
    assert browser.call("POST", path).status_code == 403
    browser.get("/account")
    assert browser.call("POST", path, headers={"x-csrf-token": browser.csrf}).status_code == 202


def test_an_expired_session_is_nobodys(tried: Tried) -> None:
    browser = tried.as_person("ada@example.com")
    key = browser.cookies["bbops"]
    later = tried.book.sessions._store.now() + timedelta(days=40)
    tried.book.sessions._store.now = lambda: later  # type: ignore[method-assign]
    assert tried.book.sessions.find(key) is None
    assert browser.get("/account").status_code == 303
