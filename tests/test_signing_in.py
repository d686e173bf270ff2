"""Set-up, sign-up, sign-in and the account page, as a browser sees them."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qs, urljoin, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops_server.accounts.limits import Limit
from bbops_server.accounts.rules import Role, Scope
from bbops_server.control.visit import local_path
from bbops_server.settings import Access
from tests.control import CSRF, PASSWORD, Browser, Tried, fresh, tried

__all__ = ["fresh", "tried"]

ADA = {"email": "ada@example.com", "password": PASSWORD}
BOB = {"email": "bob@example.com", "name": "Bob", "company": "", "password": PASSWORD}


def sign_in(browser: Browser, **change: str) -> int:
    browser.get("/signin")
    return browser.post("/signin", ADA | change).status_code


# ---- set-up
def set_up(fresh: Tried, browser: Browser) -> int:
    link = fresh.desk.setup_url
    browser.get(link)
    (token,) = parse_qs(urlsplit(link).query)["token"]
    return browser.post("/setup", BOB | {"token": token}).status_code


def test_the_first_account_is_made_by_the_link_and_owns_the_server(fresh: Tried) -> None:
    browser = fresh.browser()
    assert set_up(fresh, browser) == 303
    assert browser.call("GET", "/api/whoami").json()["role"] == "owner"
    assert browser.get("/people").status_code == 200


def test_the_set_up_link_is_good_once(fresh: Tried) -> None:
    link = fresh.desk.setup_url
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
    assert here.get(tried.desk.setup_url).status_code == 200
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


def test_attempts_of_one_address_are_counted(tried: Tried) -> None:
    for _ in range(50):
        assert tried.desk.limits.address.take("127.0.0.1") == 0
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
    assert len(tried.desk.limits.address._seen) == (1 if counts_together else 2)
    tried.close()


def test_strangers_do_not_fill_the_log(tried: Tried) -> None:
    tried.desk.limits.strangers = Limit(2, 3_600)
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


# ---- sign-up
def invite(tried: Tried, role: Role = Role.DEVELOPER) -> str:
    owner = tried.as_person("ada@example.com")
    owner.get("/people")
    page = owner.post("/people/invite", {"email": "bob@example.com", "role": role, "project": ""})
    assert page.status_code == 201
    return page.text.split('class="secret">')[1].split("<")[0]


def test_an_invitation_makes_an_account_and_signs_in(tried: Tried) -> None:
    link, browser = invite(tried), tried.browser()
    page = browser.get(link)
    assert 'value="bob@example.com"' in page.text
    key = parse_qs(urlsplit(link).query)["invitation"][0]
    assert browser.post("/signup", BOB | {"invitation": key}).status_code == 303
    assert browser.call("GET", "/api/whoami").json()["role"] == "developer"
    assert tried.browser().get(link).status_code == 403


def test_an_invitation_is_for_its_address_alone(tried: Tried) -> None:
    link, browser = invite(tried), tried.browser()
    browser.get(link)
    key = parse_qs(urlsplit(link).query)["invitation"][0]
    answer = browser.post("/signup", BOB | {"invitation": key, "email": "eve@example.com"})
    assert answer.status_code == 400
    assert tried.book.people.get("eve@example.com") is None


def test_without_an_invitation_nobody_signs_up_unless_it_is_open(tried: Tried) -> None:
    browser = tried.browser()
    assert "by invitation" in browser.get("/signup").text
    browser.get("/signin")
    browser.post("/signup", BOB)
    assert tried.book.people.get("bob@example.com") is None


def test_an_open_sign_up_gives_no_role(tmp_path: Path) -> None:
    tried = Tried(tmp_path, access=Access("open"))
    tried.add("ada@example.com", Role.OWNER)
    browser = tried.browser()
    browser.get("/signup?return_to=/account")
    answer = browser.post("/signup", BOB | {"return_to": "/account"})
    assert answer.headers["location"] == "/account"
    assert browser.call("GET", "/api/projects").json() == []
    assert "no project that you may see" in browser.get("/").text
    assert browser.get("/api/projects/small/status").status_code == 404
    tried.close()


def test_a_weak_password_is_told_with_what_was_written(tried: Tried) -> None:
    link, browser = invite(tried), tried.browser()
    browser.get(link)
    key = parse_qs(urlsplit(link).query)["invitation"][0]
    answer = browser.post("/signup", BOB | {"invitation": key, "password": "short", "name": "<b>"})
    assert answer.status_code == 400
    assert 'role="alert"' in answer.text
    assert "&lt;b&gt;" in answer.text
    assert "short" not in answer.text.replace("a short", "")


# ---- the account
def test_a_changed_password_ends_every_other_session(tried: Tried) -> None:
    browser, other = tried.as_person("ada@example.com"), tried.as_person("ada@example.com")
    browser.get("/account")
    change = {"old": PASSWORD, "password": "another horse battery"}
    assert browser.post("/account/password", change).status_code == 303
    assert browser.get("/account").status_code == 200
    assert other.get("/account").headers["location"].startswith("/signin")
    assert sign_in(tried.browser()) == 401
    assert sign_in(tried.browser(), password="another horse battery") == 303


def test_the_old_password_is_asked_for(tried: Tried) -> None:
    browser = tried.as_person("ada@example.com")
    browser.get("/account")
    answer = browser.post("/account/password", {"old": "x", "password": "another horse battery"})
    assert answer.status_code == 400


def test_a_token_is_shown_once_and_works_until_it_is_revoked(tried: Tried) -> None:
    browser = tried.as_person("ada@example.com")
    browser.get("/account")
    form = {"name": "ci", "scope": ["read", "deploy"], "days": "7", "project": ""}
    page = browser.post("/account/tokens", form)
    key = page.text.split('class="secret">')[1].split("<")[0]
    assert key not in browser.get("/account").text
    headers = {"authorization": f"Bearer {key}"}
    assert tried.browser().call("GET", "/api/whoami", headers=headers).json()["scopes"] == [
        "deploy", "read",
    ]  # fmt: skip
    person = tried.book.people.get("ada@example.com")
    assert person is not None
    (token,) = tried.book.tokens.list(person.id)
    browser.post(f"/account/tokens/{token.id}/revoke")
    assert tried.browser().call("GET", "/api/whoami", headers=headers).status_code == 401


def test_signing_out_elsewhere_leaves_this_browser(tried: Tried) -> None:
    browser, other = tried.as_person("ada@example.com"), tried.as_person("ada@example.com")
    browser.get("/account")
    browser.post("/account/sessions/end")
    assert browser.get("/account").status_code == 200
    assert other.get("/account").status_code == 303


# ---- people and the workspace
def test_roles_are_given_and_the_last_owner_stays(tried: Tried) -> None:
    bob = tried.add("bob@example.com")
    owner = tried.as_person("ada@example.com")
    owner.get("/people")
    form = {"role": "maintainer", "project": "small"}
    assert owner.post(f"/people/{bob.id}/role", form).status_code == 303
    assert tried.book.members.roles(bob.id) == (None, {"small": Role.MAINTAINER})
    ada = tried.book.people.get("ada@example.com")
    assert ada is not None
    assert owner.post(f"/people/{ada.id}/role", {"role": ""}).status_code == 400
    assert owner.post(f"/people/{bob.id}/role", {"role": "king"}).status_code == 400
    assert owner.post("/people/nobody/role", {"role": "viewer"}).status_code == 404


def test_who_is_kept_out_is_out_at_once(tried: Tried) -> None:
    bob = tried.add("bob@example.com", Role.VIEWER)
    his = tried.as_person("bob@example.com")
    owner = tried.as_person("ada@example.com")
    owner.get("/people")
    owner.post(f"/people/{bob.id}/disable", {"disabled": "yes"})
    assert his.call("GET", "/api/whoami").status_code == 401
    assert sign_in(tried.browser(), email="bob@example.com") == 401
    owner.post(f"/people/{bob.id}/disable", {"disabled": "no"})
    assert sign_in(tried.browser(), email="bob@example.com") == 303


def test_a_switched_feature_has_every_project_looked_at(tried: Tried) -> None:
    owner = tried.as_person("ada@example.com")
    owner.get("/workspace")
    owner.post("/workspace", {"name": "W", "company": "C"})
    assert tried.book.workspaces.get().features == {"restChannels": False}
    assert tried.source.asked == ["small"]


def test_the_log_tells_what_was_done_and_no_secret(tried: Tried) -> None:
    browser = tried.browser()
    sign_in(browser, password="wrong password")
    sign_in(browser)
    browser.get("/account")
    key = browser.post(
        "/account/tokens", {"name": "ci", "scope": "read", "days": "7"}
    ).text.split('class="secret">')[1].split("<")[0]  # fmt: skip
    page = browser.get("/audit").text
    assert "ci (read)" in page
    assert "refused" in page
    for secret in (key, browser.cookies["bbops"], PASSWORD, "wrong password"):
        assert secret not in page


# ---- every page
@pytest.mark.parametrize(
    "path", ["/", "/account", "/people", "/workspace", "/audit", "/signin", "/signup", "/setup"]
)
def test_a_page_runs_nothing_is_not_kept_and_fits_a_phone(tried: Tried, path: str) -> None:
    browser = tried.browser() if path.startswith("/s") else tried.as_person("ada@example.com")
    page = browser.get(path)
    assert page.headers["content-type"].startswith("text/html")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.headers["cache-control"] == "no-store"
    assert "<script" not in page.text
    assert "style=" not in page.text
    assert 'name="viewport"' in page.text
    assert '<html lang="en">' in page.text
    assert page.text.count("<h1>") == 1


@pytest.mark.parametrize("path", ["/account", "/people", "/workspace", "/signin"])
def test_every_input_that_is_seen_has_a_label_and_every_form_its_token(
    tried: Tried, path: str
) -> None:
    browser = tried.browser() if path == "/signin" else tried.as_person("ada@example.com")
    tried.book.invitations.make("eve@example.com", Role.VIEWER, invited_by="ada@example.com")
    ada = tried.book.people.get("ada@example.com")
    assert ada is not None
    tried.book.tokens.make(ada.id, "ci", [Scope.READ])
    text = browser.get(path).text
    for part in text.split("<form ")[1:]:
        form = part.split("</form>")[0]
        assert 'method="post"' in form
        assert CSRF.search(form)
        for control in form.split("<input ")[1:] + form.split("<select ")[1:]:
            if 'type="hidden"' in control or 'type="checkbox"' in control:
                continue
            name = control.split('id="')[1].split('"')[0]
            assert f'<label for="{name}">' in form


def test_an_expired_session_is_nobodys(tried: Tried) -> None:
    browser = tried.as_person("ada@example.com")
    key = browser.cookies["bbops"]
    later = tried.book.sessions._store.now() + timedelta(days=40)
    tried.book.sessions._store.now = lambda: later  # type: ignore[method-assign]
    assert tried.book.sessions.find(key) is None
    assert browser.get("/account").status_code == 303
