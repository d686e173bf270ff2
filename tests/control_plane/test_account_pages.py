"""Sign-up, the account page, people and the workspace, as a browser sees them."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from bbops_server.accounts.rules import Role, Scope
from bbops_server.settings import Access
from tests.support.control import CSRF, PASSWORD, Tried, tried
from tests.support.islands import without_islands
from tests.support.signing_in import BOB, sign_in

__all__ = ["tried"]


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
    assert "by invitation only" in browser.get("/signup").text
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
    assert "no projects you have access to" in browser.get("/").text
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
    assert tried.source.asked == ["small again"]


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
    assert "<script" not in without_islands(page.text)
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
