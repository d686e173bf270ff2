"""Who may call an endpoint, and how often: roles, optional users, limits of its own; attacked."""

from __future__ import annotations

import marshal
from typing import Any

import pytest

from bbops.compiler.compile.release import build
from bbops.compiler.testing.client import Client
from bbops.source.tree import MemoryTree
from tests.conftest import Files, Serving, sample
from tests.support.raw_requests import Ask, talk, token

PROJECT = """
bbops: 1
name: desk
env: { JWT_SECRET: { secret: true } }
auth: { users: users, signingKey: "${ env.JWT_SECRET }" }
"""
USERS = """
columns:
  id: { type: string, primaryKey: true }
  role: { type: string, enum: [viewer, agent, admin], default: viewer }
"""
WHO = "steps:\n  - return: { value: { who: '${ vars.auth?.userId }' } }\n"
CHANNEL = "name: Desk\nbasePath: /desk\nauthentication: {}\n"
REFUSES = "steps:\n  - throw: { status: 418 }\n"


def desk(channel: str = CHANNEL.format("JWT"), **files: str) -> Files:
    """Return a project with the channel `desk`."""
    return sample(project=PROJECT, tables__users=USERS, channels__desk=channel, **files)


def endpoint(path: str, rest: str = "", steps: str = WHO, method: str = "GET") -> str:
    return f"channel: desk\nmethod: {method}\npath: /{path}\n{rest}{steps}"


async def status(client: Client, path: str, headers: dict[str, str] | None = None) -> int:
    found: int = (await client.ask("GET", f"/desk/{path}", headers=headers or {})).status
    return found


# ---- roles
ADMINS = desk(endpoints__admins=endpoint("admins", "roles: [agent, admin]\n"))


@pytest.mark.parametrize("role", ["agent", "admin"])
def test_a_user_with_one_of_the_roles_may_call_it(role: str, ask: Ask) -> None:
    assert ask(ADMINS, "GET", "/desk/admins", headers=token(role=role)).json == {"who": "u1"}


@pytest.mark.parametrize(
    "role", ["viewer", "Admin", " admin", "admin,agent", "", None, 1, True, ["admin"], {"admin": 1}]
)
def test_whatever_else_a_token_has_as_its_role_is_403(role: Any, ask: Ask) -> None:
    assert ask(ADMINS, "GET", "/desk/admins", headers=token(role=role)).status == 403


def test_without_a_token_it_is_401_and_no_role_is_told(ask: Ask) -> None:
    reply = ask(ADMINS, "GET", "/desk/admins")
    assert (reply.status, "admin" in str(reply.json)) == (401, False)
    reply = ask(ADMINS, "GET", "/desk/admins", headers=token(role="viewer"))
    assert "agent" not in str(reply.json)


def test_the_role_is_refused_before_any_middleware_runs(ask: Ask) -> None:
    files = desk(
        endpoints__admins=endpoint("admins", "roles: [admin]\nmiddleware: [refuse]\n"),
        functions__refuse=REFUSES,
    )
    assert ask(files, "GET", "/desk/admins", headers=token(role="viewer")).status == 403
    assert ask(files, "GET", "/desk/admins", headers=token(role="admin")).status == 418


def test_roles_of_a_channel_hold_until_an_endpoint_says_others(ask: Ask) -> None:
    files = desk(
        CHANNEL.format("JWT") + "roles: [admin]\n",
        endpoints__shared=endpoint("shared"),
        endpoints__agents=endpoint("agents", "roles: [agent]\n"),
        endpoints__all=endpoint("all", "roles: []\n"),
    )
    found = {
        (path, role): ask(files, "GET", f"/desk/{path}", headers=token(role=role)).status
        for path in ("shared", "agents", "all") for role in ("viewer", "agent", "admin")
    }  # fmt: skip
    assert {key for key, one in found.items() if one == 200} == {
        ("shared", "admin"), ("agents", "agent"),
        ("all", "viewer"), ("all", "agent"), ("all", "admin"),
    }  # fmt: skip
    assert ask(files, "GET", "/desk/all").status == 401


def test_the_role_of_an_old_token_counts_until_the_token_ends(ask: Ask) -> None:
    files = ADMINS | {"tables/users.yaml": USERS + "seed: [{ id: u1, role: viewer }]\n"}
    assert ask(files, "GET", "/desk/admins", headers=token(role="admin")).status == 200
    assert ask(files, "GET", "/desk/admins", headers=token(role="admin", exp=1)).status == 401


def test_a_key_of_the_channel_is_no_user_with_a_role(ask: Ask) -> None:
    files = desk(
        CHANNEL.format("API Key"),
        endpoints__admins=endpoint("admins", "authentication: JWT\nroles: [admin]\n"),
    )
    assert ask(files, "GET", "/desk/admins", headers={"x-api-key": "bb_1"}).status == 401
    assert ask(files, "GET", "/desk/admins", headers=token(role="admin")).status == 200


# ---- optional
OPTIONAL = desk(
    endpoints__either=endpoint("either", "authentication: Optional\n"),
    endpoints__once=endpoint(
        "once", "authentication: Optional\nidempotency: true\n", method="POST",
        steps="steps:\n  - insert: { table: notes, data: { title: a } }\n    as: it\n"
        "  - return: { value: { id: '${ vars.it.id }', who: '${ vars.auth?.userId }' } }\n",
    ),
)  # fmt: skip


def test_with_a_token_there_is_a_user_and_without_one_there_is_none(ask: Ask) -> None:
    assert ask(OPTIONAL, "GET", "/desk/either", headers=token()).json == {"who": "u1"}
    assert ask(OPTIONAL, "GET", "/desk/either").json == {"who": None}


@pytest.mark.parametrize(
    "headers",
    [
        token(exp=1), token("another-key-of-more-than-32-characters"), token("", None),
        {"authorization": "Bearer"}, {"authorization": "Bearer x"}, {"Authorization": "Basic eDp5"},
        {"AUTHORIZATION": "nothing"}, token(sub=[7]),
    ],
    ids=["expired", "other key", "unsigned", "empty", "no token", "basic", "no scheme", "no user"],
)  # fmt: skip
def test_a_token_that_is_not_valid_is_401_and_not_nobody(headers: Any, ask: Ask) -> None:
    assert ask(OPTIONAL, "GET", "/desk/either", headers=headers).status == 401


def test_a_user_who_is_called_none_is_not_nobody(serving: Serving) -> None:
    async def tell(client: Client) -> None:
        key = {"idempotency-key": "k1"}
        mine = await client.ask("POST", "/desk/once", headers=key | token(sub="None"))
        theirs = await client.ask("POST", "/desk/once", headers=key)
        assert mine.json["who"] == "None"
        assert (theirs.json["who"], theirs.json["id"] == mine.json["id"]) == (None, False)

    talk(serving, OPTIONAL, tell)


# ---- limits
LIMITED = desk(
    CHANNEL.format("JWT") + "rateLimit: 3\n",
    endpoints__shared=endpoint("shared"),
    endpoints__own=endpoint("own", "rateLimit: 1\n"),
    endpoints__hourly=endpoint("hourly", "rateLimit: { limit: 2, per: 1h, by: address }\n"),
    endpoints__free=endpoint("free", "rateLimit: 0\n"),
)


def test_a_limit_of_an_endpoint_has_a_counter_of_its_own(serving: Serving) -> None:
    async def tell(client: Client) -> None:
        assert [await status(client, "own", token()) for _ in range(2)] == [200, 429]
        assert [await status(client, "shared", token()) for _ in range(4)] == [200, 200, 200, 429]
        assert await status(client, "own", token(sub="u2")) == 200

    talk(serving, LIMITED, tell)


def test_no_limit_replaces_that_of_the_channel(serving: Serving) -> None:
    async def tell(client: Client) -> None:
        replies = [await client.ask("GET", "/desk/free", headers=token()) for _ in range(9)]
        assert {one.status for one in replies} == {200}
        assert "ratelimit" not in replies[0].headers

    talk(serving, LIMITED, tell)


def test_a_limit_says_in_which_time_it_counts(ask: Ask) -> None:
    reply = ask(LIMITED, "GET", "/desk/hourly", headers=token())
    assert reply.headers["ratelimit-policy"] == '"hourly";q=2;w=3600'
    state, _, seconds = reply.headers["ratelimit"].partition(";t=")
    assert (state, 60 < int(seconds) <= 3600) == ('"hourly";r=1', True)


def test_a_limit_by_address_counts_all_users_of_one_together(serving: Serving) -> None:
    async def tell(client: Client) -> None:
        users = [token(sub=f"u{number}") for number in range(3)]
        assert [await status(client, "hourly", one) for one in users] == [200, 200, 429]
        other = await client.ask("GET", "/desk/hourly", headers=users[0], peer="10.0.0.9")
        assert other.status == 200

    talk(serving, LIMITED, tell)


def test_nothing_that_a_client_writes_makes_it_another_client(serving: Serving) -> None:
    async def tell(client: Client) -> None:
        tries: list[dict[str, str]] = [
            token(), token() | {"X-Forwarded-For": "10.0.0.9"},
            token() | {"FORWARDED": "for=10.1.1.1"},
            {"Authorization": token()["authorization"].replace("Bearer", "bEARER")},
        ]  # fmt: skip
        assert [await status(client, "own", one) for one in tries] == [200, 429, 429, 429]
        head = await client.ask("HEAD", "/desk/own", headers=token())
        assert head.status == 429
        assert await status(client, "own/", token()) in {404, 429}

    talk(serving, LIMITED, tell)


def test_a_bad_token_counts_for_the_address_and_not_for_the_user(serving: Serving) -> None:
    async def tell(client: Client) -> None:
        bad = token("another-key-of-more-than-32-characters")
        assert [await status(client, "own", bad) for _ in range(2)] == [401, 429]
        assert await status(client, "own", token()) == 200

    talk(serving, LIMITED, tell)


# ---- the rest of a channel
def test_an_endpoint_has_the_largest_body_of_its_channel_or_its_own(ask: Ask) -> None:
    takes = "input: { text: string }\n" + WHO
    files = desk(
        CHANNEL.format("None") + "maxBody: 1KB\n",
        endpoints__small=endpoint("small", steps=takes.replace("vars.auth?.userId", "input.text"),
                                  method="POST"),
        endpoints__large=endpoint("large", "maxBody: 4KB\n", method="POST",
                                  steps=takes.replace("vars.auth?.userId", "input.text")),
    )  # fmt: skip
    body = {"text": "x" * 2000}
    assert ask(files, "POST", "/desk/small", body).status == 413
    assert ask(files, "POST", "/desk/large", body).status == 200


def test_an_endpoint_has_timeout_and_history_of_its_channel_or_its_own() -> None:
    files = desk(
        CHANNEL.format("JWT") + "timeout: 2s\nhistory: off\n",
        endpoints__short=endpoint("short"),
        endpoints__long=endpoint("long", "timeout: 60s\nhistory: full\n"),
    )
    built = build(MemoryTree(files), base=MemoryTree(files))
    assert built.artifact, built.diagnostics
    routes = {one["endpoint"]: one for one in marshal.loads(built.artifact)["routes"]}
    found = {name: (one["timeout_seconds"], one["history"]) for name, one in routes.items()}
    assert found == {"short": (2.0, "off"), "long": (60.0, "full")}


def test_middleware_of_an_endpoint_runs_behind_that_of_its_channel_once(ask: Ask) -> None:
    files = desk(
        CHANNEL.format("None") + "middleware: [first]\n",
        functions__first="steps:\n  - set: { seen: 1 }\n",
        functions__second="steps:\n  - set: { seen: '${ vars.seen + 1 }' }\n",
        endpoints__both=endpoint(
            "both", "middleware: [second, first]\n", "steps:\n  - return: ${ vars.seen }\n"
        ),
    )
    assert ask(files, "GET", "/desk/both").json == 2
