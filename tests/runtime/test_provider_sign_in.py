"""Users of a project sign in at OpenID Connect providers, Apple and GitHub."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bbops.database.schema.place import PostgresPlace
from tests.support.cookies import Browser, Seen
from tests.support.provider import CLIENT, TestProvider
from tests.support.sign_in import URL, USERS, SignIns, apple_key, go, project, sign_ins, who, whole
from tests.support.signing_keys import p256_key


@pytest.fixture
def there() -> Iterator[TestProvider]:
    provider = TestProvider()
    yield provider
    provider.close()


@pytest.fixture
def here(there: TestProvider, tmp_path: Path) -> Iterator[SignIns]:
    with sign_ins(tmp_path, project(there), APPLE_KEY=apple_key()) as found:
        yield found


def sign_in(here: SignIns, there: TestProvider, name: str = "corp", back: str = "") -> Any:
    """Sign in with a new browser; return status, where it was sent, and whom it is."""
    there.apple = p256_key().public_key() if name == "apple" else None

    async def story() -> tuple[int, str | None, Any]:
        answer, browser = await whole(here.client(), name, back)
        return answer.status, answer.header("location"), await who(browser)

    return here.run(story)


# ---- it works
@pytest.mark.parametrize("name", ["corp", "google", "github", "apple"])
def test_a_user_signs_up_and_then_signs_in(here: SignIns, there: TestProvider, name: str) -> None:
    assert sign_in(here, there, name, "/account?a=1#top") == (303, f"{URL}/account?a=1#top", 1)
    there.claims["email"] = "bob@elsewhere.example"  # the subject says who it is, not the address
    there.emails[0]["email"] = "bob@elsewhere.example"
    assert sign_in(here, there, name) == (303, f"{URL}/", 1)
    (user,) = here.users()
    assert user == ("bob@example.com", int(name == "corp"), "Bob", "user")


def test_the_cookies_are_those_of_login_and_the_state_is_gone(
    here: SignIns, there: TestProvider
) -> None:
    async def story() -> None:
        browser = Browser(here.client())
        away = await go(browser, "corp")
        (kept,) = [name for name, _ in browser.cookies]
        assert kept.startswith("__Host-bbops-auth-")
        answer = await away.come()
        assert {*answer.cookies} == {kept, "session", "session-refresh", "csrf"}
        assert answer.header("cache-control") == "no-store"
        assert kept not in {name for name, _ in browser.cookies}
        (session,) = answer.cookies["session"]
        assert session["httponly"]
        assert session["secure"]
        refreshed = await browser.ask("POST", "/refresh")
        assert refreshed.status in {200, 404}

    here.run(story)


def test_pkce_state_and_nonce_are_new_each_time(here: SignIns) -> None:
    async def story() -> list[dict[str, str]]:
        client = here.client()
        return [(await go(Browser(client), "corp")).asked for _ in range(2)]

    one, other = here.run(story)
    assert one["code_challenge_method"] == "S256"
    for key in ("state", "nonce", "code_challenge"):
        assert len(one[key]) >= 43
        assert one[key] != other[key]
    assert one["redirect_uri"] == f"{URL}/~auth/corp/callback"


def test_apple_posts_a_form_and_takes_a_signed_secret(here: SignIns, there: TestProvider) -> None:
    there.claims |= {"name": None, "email_verified": "true", "email": "a@privaterelay.appleid.com"}
    there.apple = p256_key().public_key()

    async def story() -> Seen:
        away = await go(Browser(here.client()), "apple")
        named = '{"name": {"firstName": "Bob", "lastName": "Smith"}}'
        (cookie,) = (await away.browser.ask("GET", "/~auth/apple")).cookies.values()
        assert cookie[0]["samesite"] == "None"
        return await (await go(away.browser, "apple")).come(user=named)

    assert here.run(story).status == 303
    assert here.users() == [("a@privaterelay.appleid.com", 1, "Bob Smith", "user")]
    assert (
        "client_secret" not in there.posts[-1] or there.posts[-1]["client_secret"].count(".") == 2
    )


def test_who_says_no_comes_back_without_an_account(here: SignIns) -> None:
    async def story() -> Seen:
        away = await go(Browser(here.client()), "corp", "/in?x=1")
        return await away.come(code=None, error="access_denied")

    answer = here.run(story)
    assert (answer.status, answer.header("location")) == (303, f"{URL}/in?x=1&error=access_denied")
    assert here.users() == []


# ---- whose account it is
@pytest.mark.parametrize(("name", "verified", "domain", "expected"), [
    ("corp", True, "example.com", 303),  # both know whose mailbox it is
    ("corp", False, "example.com", 409),  # somebody may have signed up with another's address
    ("corp", True, "elsewhere.example", 409),  # the issuer has not this mailbox
    ("google", True, "example.com", 409), ("google", True, "gmail.com", 303),
    ("github", True, "example.com", 409), ("apple", True, "example.com", 409),
])  # fmt: skip
def test_an_address_joins_an_account_only_where_both_know_it(
    here: SignIns, there: TestProvider, name: str, verified: bool, domain: str, expected: int
) -> None:
    here.add(f"Bob@{domain}", is_verified=verified)
    there.claims["email"] = there.emails[0]["email"] = f"bob@{domain}"
    status, _, found = sign_in(here, there, name)
    assert (status, found) == ((303, 1) if expected == 303 else (409, None))
    assert len(here.users()) == 1
    if expected == 303:
        assert sign_in(here, there, name)[2] == 1


def test_a_workspace_of_google_has_its_own_domain(here: SignIns, there: TestProvider) -> None:
    here.add("bob@corp.example")
    there.claims |= {"email": "bob@corp.example", "hd": "corp.example"}
    assert sign_in(here, there, "google")[0] == 303


def test_without_a_column_that_says_so_nothing_joins(there: TestProvider, tmp_path: Path) -> None:
    files = project(there, "{ email: email, name: name }")
    with sign_ins(tmp_path, files, APPLE_KEY=apple_key()) as here:
        here.add("bob@example.com")
        assert sign_in(here, there)[0] == 409


@pytest.mark.parametrize("name", ["corp", "github", "apple", "google"])
def test_an_address_that_is_not_verified_is_none(
    here: SignIns, there: TestProvider, name: str
) -> None:
    there.claims["email_verified"] = False
    there.emails[0]["verified"] = False  # type: ignore[assignment]
    assert sign_in(here, there, name)[0] == 403
    assert here.users() == []


def test_a_table_that_needs_no_address_takes_who_has_none(
    there: TestProvider, tmp_path: Path
) -> None:
    users = USERS.replace("maxLength: 100 }", "maxLength: 100, nullable: true }")
    there.claims["email_verified"] = False
    with sign_ins(tmp_path, project(there, users=users), APPLE_KEY=apple_key()) as here:
        assert sign_in(here, there)[0] == 303
        assert here.users() == [(None, 0, "Bob", "user")]


def test_the_account_of_a_user_who_was_deleted_is_a_new_one(
    here: SignIns, there: TestProvider
) -> None:
    assert sign_in(here, there)[2] == 1
    here.bench.sql("DELETE FROM users RETURNING id")
    assert sign_in(here, there)[2] == 2


@pytest.mark.parametrize(("column", "value"), [
    ("{ type: boolean, default: false }", "1"),
    ("{ type: datetime, nullable: true }", "'2026-01-01T00:00:00.000000Z'"),
])  # fmt: skip
def test_an_account_that_is_blocked_neither_signs_in_nor_is_joined(
    there: TestProvider, tmp_path: Path, column: str, value: str
) -> None:
    users = USERS.replace("  role:", f"  blocked: {column}\n  role:")
    profile = "{ emailVerified: email_verified, name: name, role: role, blocked: blocked }"
    with sign_ins(tmp_path, project(there, profile, users), APPLE_KEY=apple_key()) as here:
        assert sign_in(here, there)[2] == 1
        here.bench.sql(f"UPDATE users SET blocked = {value} RETURNING id")
        assert sign_in(here, there) == (403, None, None)
        there.claims |= {"sub": "18"}  # another identity with the same mailbox
        assert sign_in(here, there) == (403, None, None)
        assert len(here.users()) == 1


# ---- Microsoft
TENANT = "11111111-2222-4333-8444-555555555555"


@pytest.mark.parametrize(("tenant", "claims", "expected"), [
    (TENANT, {}, 303),
    (TENANT, {"email": "bob@elsewhere.example"}, 403),
    ("common", {}, 403),
    ("common", {"xms_edov": True}, 303),
    ("common", {"xms_edov": True, "tid": "99999999-2222-4333-8444-555555555555"}, 400),
])  # fmt: skip
def test_microsoft_says_of_its_tenants_whose_mailboxes_are_theirs(
    there: TestProvider, tmp_path: Path, tenant: str, claims: dict[str, Any], expected: int
) -> None:
    """An administrator of any tenant can write any address: only one that it owns counts."""
    there.tenant = tenant
    at = f"issuer: '{there.url}/{tenant}/v2.0'"
    one = f"{{ clientId: {CLIENT}, clientSecret: '${{ env.CLIENT_SECRET }}', {at},"
    files = project(there, microsoft=f"{one} domains: [example.com] }}")
    there.claims |= {"iss": f"{there.url}/{TENANT}/v2.0", "tid": TENANT, **claims}
    with sign_ins(tmp_path, files, APPLE_KEY=apple_key()) as here:
        assert sign_in(here, there, "microsoft")[0] == expected


# ---- PostgreSQL
@pytest.mark.parametrize("key", ["{ type: integer, primaryKey: true, auto: increment }",
                                 "{ type: uuid, primaryKey: true, auto: uuid }"])  # fmt: skip
@pytest.mark.parametrize("verified", ["boolean, default: false", "datetime, nullable: true"])
def test_accounts_are_made_and_found_in_postgresql(
    there: TestProvider, schema: PostgresPlace, key: str, verified: str
) -> None:
    users = USERS.replace("{ type: integer, primaryKey: true, auto: increment }", key)
    users = users.replace("boolean, default: false", verified)
    with sign_ins(schema, project(there, users=users), APPLE_KEY=apple_key()) as here:
        status, _, found = sign_in(here, there)
        assert (status, sign_in(here, there)[2]) == (303, found)
        there.claims |= {"sub": "18"}  # another subject with the same verified mailbox joins
        assert sign_in(here, there)[2] == found
        there.claims |= {"sub": "19", "email": "eve@elsewhere.example"}
        assert sign_in(here, there)[2] not in {None, found}
        there.claims |= {"sub": "20"}
        assert sign_in(here, there)[0] == 409
        assert next((email, bool(is_one)) for email, is_one, _, _ in here.users()) in [
            ("bob@example.com", True), ("eve@elsewhere.example", False),
        ]  # fmt: skip
        here.bench.sql("DELETE FROM users WHERE email = ? RETURNING id", "bob@example.com")
        there.claims |= {"sub": "18", "email": "bob@example.com"}
        assert sign_in(here, there)[2] not in {None, found}
