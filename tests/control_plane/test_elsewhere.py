"""Sign-in at an OpenID Connect provider and at GitHub, both real ones on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from bbops_server.accounts.people import NewPerson
from bbops_server.accounts.rules import Role
from bbops_server.process.host.secrets import Secrets
from bbops_server.settings import Access, Provider, Settings
from bbops_server.settings.server_file.load import load
from bbops_server.settings.server_file.settings import access_settings
from tests.support.control import HASH, Browser, Tried
from tests.support.patience import PATIENCE_SECONDS
from tests.support.provider import CLIENT, SECRET, TestProvider
from tests.support.signing_keys import other_rsa_key


@pytest.fixture
def there() -> Iterator[TestProvider]:
    provider = TestProvider()
    yield provider
    provider.close()


@pytest.fixture
def here(there: TestProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tried]:
    monkeypatch.setenv("CORP_SECRET", SECRET)
    here = Tried(tmp_path, access=access(there))
    here.add("ada@example.com", Role.OWNER)
    yield here
    here.close()


def access(there: TestProvider, *, joins: bool = False, **more: Any) -> Access:
    return Access(
        providers=(
            Provider("corp", "oidc", there.url, CLIENT, "CORP_SECRET", joins),
            Provider("github", "github", there.url, CLIENT, "CORP_SECRET", joins),
        ), **more,
    )  # fmt: skip


def go(browser: Browser, name: str = "corp", **query: str) -> httpx.Response:
    """Go to a provider and come back, as a browser does."""
    away = browser.get(f"/signin/with/{name}", params=query)
    if away.status_code != 303:
        return away
    back = httpx.get(away.headers["location"], timeout=PATIENCE_SECONDS).headers["location"]
    parts = urlsplit(back)
    return browser.get(f"{parts.path}?{parts.query}")


def who(browser: Browser) -> str:
    answer = browser.call("GET", "/api/whoami")
    return str(answer.json()["email"]) if answer.status_code == 200 else ""


def invite(here: Tried, email: str = "bob@example.com") -> str:
    key, _ = here.book.invitations.make(email, Role.DEVELOPER, invited_by="ada@example.com")
    return key


@pytest.mark.parametrize("name", ["corp", "github"])
def test_an_invited_person_signs_up_and_then_signs_in_there(here: Tried, name: str) -> None:
    browser = here.browser()
    answer = go(browser, name, invitation=invite(here), return_to="/account")
    assert (answer.status_code, answer.headers.get("location")) == (303, "/account"), answer.text
    assert who(browser) == "bob@example.com"
    again = here.browser()
    assert go(again, name).status_code == 303
    assert who(again) == "bob@example.com"
    person = here.book.people.get("bob@example.com")
    assert person is not None
    assert (person.has_password, person.is_verified, person.name) == (False, True, "Bob")


@pytest.mark.parametrize("name", ["corp", "github"])
def test_who_is_not_invited_has_no_account(here: Tried, name: str) -> None:
    browser = here.browser()
    answer = go(browser, name)
    assert answer.status_code == 403
    assert "no account here" in answer.text.casefold()
    assert (who(browser), here.book.people.get("bob@example.com")) == ("", None)


def test_where_sign_up_is_open_a_verified_address_is_enough(
    here: Tried, there: TestProvider
) -> None:
    here.settings = Settings(here.settings.state, access=access(there, signup="open"))
    browser = here.browser()
    there.claims["email_verified"] = False
    assert go(browser).status_code == 403
    there.claims["email_verified"] = True
    assert go(browser).status_code == 303
    assert browser.call("GET", "/api/whoami").json()["role"] is None


def test_an_invitation_is_for_the_address_the_provider_vouches_for(here: Tried) -> None:
    assert go(here.browser(), invitation=invite(here, "eve@example.com")).status_code == 403
    assert here.book.people.get("bob@example.com") is None


# ---- joining an account that there is
@pytest.mark.parametrize(("joins", "vouched", "known", "expected"), [
    (True, True, True, 303), (False, True, True, 403), (True, False, True, 403),
    (True, True, False, 403),
])  # fmt: skip
def test_an_account_is_joined_only_where_both_know_the_address(
    here: Tried, there: TestProvider, joins: bool, vouched: bool, known: bool, expected: int
) -> None:
    here.settings = Settings(here.settings.state, access=access(there, joins=joins))
    new = NewPerson("Bob@example.com", "Bob", "", HASH, is_verified=known)
    bob = here.book.people.add(new)
    there.claims["email_verified"] = vouched
    browser = here.browser()
    assert go(browser).status_code == expected
    found = here.book.people.find_identity("corp", "17")
    assert (found is not None and found.id == bob.id) is (expected == 303)


def test_who_is_kept_out_is_kept_out_there_too(here: Tried) -> None:
    go(here.browser(), invitation=invite(here))
    person = here.book.people.get("bob@example.com")
    assert person is not None
    here.book.people.disable(person.id)
    browser = here.browser()
    assert go(browser).status_code == 403
    assert who(browser) == ""


def test_another_address_later_is_the_same_person(here: Tried, there: TestProvider) -> None:
    go(here.browser(), invitation=invite(here))
    there.claims["email"] = "ada@example.com"
    browser = here.browser()
    go(browser)
    assert who(browser) == "bob@example.com"


# ---- what a provider must not get away with
@pytest.mark.parametrize("change", [
    {"aud": "another"}, {"iss": "https://evil.example"}, {"nonce": "another"}, {"nonce": None},
    {"exp": 1_700_000_000}, {"exp": None}, {"sub": None}, {"sub": ""},
    {"aud": [CLIENT, "another"]}, {"azp": "another"}, {"iat": None},
], ids=str)  # fmt: skip
def test_an_id_token_for_somebody_else_is_none(
    here: Tried, there: TestProvider, change: dict[str, Any]
) -> None:
    there.change = change
    browser = here.browser()
    assert go(browser, invitation=invite(here)).status_code == 403
    assert (who(browser), here.book.people.get("bob@example.com")) == ("", None)


@pytest.mark.parametrize(("key", "algorithm"), [
    (other_rsa_key, "RS256"), (None, "none"), ("a shared secret of enough length, 32", "HS256"),
])  # fmt: skip
def test_an_id_token_signed_otherwise_is_none(
    here: Tried, there: TestProvider, key: Any, algorithm: str
) -> None:
    there.key, there.algorithm = key() if callable(key) else key, algorithm
    assert go(here.browser(), invitation=invite(here)).status_code == 403


@pytest.mark.parametrize("about", [
    {"issuer": "https://evil.example"}, {"token_endpoint": 7}, {"jwks_uri": "http://127.0.0.1:1/"},
    {"authorization_endpoint": None},
])  # fmt: skip
def test_a_provider_that_says_odd_things_of_itself_is_refused(
    here: Tried, there: TestProvider, about: dict[str, Any]
) -> None:
    there.about = about
    answer = go(here.browser(), invitation=invite(here))
    assert answer.status_code in {400, 403}
    assert SECRET not in answer.text


def test_a_provider_that_is_gone_is_said(here: Tried, there: TestProvider) -> None:
    there.about = {}
    gone = Provider("corp", "oidc", "http://127.0.0.1:1", "x", "CORP_SECRET")
    here.settings = Settings(here.settings.state, access=Access(providers=(gone,)))
    answer = here.browser().get("/signin/with/corp")
    assert (answer.status_code, "cannot be reached" in answer.text) == (400, True)


def test_the_secret_may_be_sent_in_the_form(here: Tried, there: TestProvider) -> None:
    there.about = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    assert go(here.browser(), invitation=invite(here)).status_code == 303


def test_the_address_may_stand_in_the_user_info(here: Tried, there: TestProvider) -> None:
    there.change = {"email": None, "email_verified": None}
    assert go(here.browser(), invitation=invite(here)).status_code == 303


@pytest.mark.parametrize("emails", [
    [], [{"email": "bob@example.com", "primary": True, "verified": False}],
    [{"email": "bob@example.com", "primary": False, "verified": True}], {"odd": 1}, ["odd"],
])  # fmt: skip
def test_of_github_only_the_verified_primary_address_counts(
    here: Tried, there: TestProvider, emails: Any
) -> None:
    there.emails = emails
    assert go(here.browser(), "github", invitation=invite(here)).status_code == 403


# ---- the browser
def test_a_sign_in_is_finished_by_the_browser_that_began_it_once(here: Tried) -> None:
    browser = here.browser()
    key = invite(here)
    away = browser.get("/signin/with/corp", params={"invitation": key})
    sent = parse_qs(urlsplit(away.headers["location"]).query)
    assert sent["code_challenge_method"] == ["S256"]
    answer = httpx.get(away.headers["location"], timeout=PATIENCE_SECONDS)
    back = urlsplit(answer.headers["location"])
    target = f"{back.path}?{back.query}"
    other = here.browser()
    other.get("/signin")
    assert other.get(target).status_code == 403
    assert browser.get(target).status_code == 403  # it was tried, so it is used up


@pytest.mark.parametrize("query", ["", "?state=x&code=y", "?error=access_denied", "?state=é"])
def test_coming_back_from_nowhere_signs_nobody_in(here: Tried, query: str) -> None:
    browser = here.browser()
    assert browser.get(f"/signin/with/corp/callback{query}").status_code == 403
    assert who(browser) == ""


def test_an_unknown_provider_is_not_there(here: Tried) -> None:
    assert here.browser().get("/signin/with/other").status_code == 404


def test_the_pages_offer_what_there_is(here: Tried) -> None:
    page = here.browser().get("/signin").text
    assert "Sign in with corp" in page
    assert "Sign in with GitHub" in page


def test_the_secret_comes_from_the_store_and_is_missed_with_a_cure(
    here: Tried, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
    monkeypatch.delenv("CORP_SECRET")
    answer = here.browser().get("/signin/with/corp")
    assert (answer.status_code, "bbops env set CORP_SECRET" in answer.text) == (400, True)
    Secrets.open(here.settings.state).set("CORP_SECRET", SECRET)
    assert go(here.browser(), invitation=invite(here)).status_code == 303


def test_the_servers_file_names_providers() -> None:
    text = """
signIn:
  oidc:
    - { name: corp, issuer: "https://login.example.com/", clientId: bbops, clientSecretEnv: CORP }
  github: { clientId: abc, clientSecretEnv: GITHUB_SECRET, joinByEmail: true }
projects: {}
"""
    file = load("server.yaml", text.encode(), {}).file
    assert file is not None
    assert access_settings(file).providers == (
        Provider("corp", "oidc", "https://login.example.com/", "bbops", "CORP"),
        Provider(
            "github", "github", "https://github.com", "abc", "GITHUB_SECRET", joins_by_email=True
        ),
    )


@pytest.mark.parametrize("names", [("corp", "corp"), ("github", "corp")])
def test_each_provider_has_a_name_of_its_own(names: tuple[str, str]) -> None:
    rest = "issuer: 'https://login.example.com', clientId: b, clientSecretEnv: C"
    listed = ", ".join(f"{{ name: {name}, {rest} }}" for name in names)
    text = f"signIn: {{ oidc: [{listed}] }}\nprojects: {{}}\n"
    (found,) = load("server.yaml", text.encode(), {}).diagnostics
    assert f"two providers are named '{names[0]}'" in found.message


def test_an_issuer_is_reached_by_https() -> None:
    text = (
        "signIn: { oidc: [{ name: corp, issuer: 'http://login.example.com', clientId: b, "
        "clientSecretEnv: C }] }\nprojects: {}\n"
    )
    (found,) = load("server.yaml", text.encode(), {}).diagnostics
    assert "expected an https URL" in found.message
