"""Channels protect what is behind them: rate limits, and which origins may read answers."""

from __future__ import annotations

from typing import Any

from bbops.compiler.testing.client import Client, serve
from bbops.runtime.linking.lasting import Lasting
from bbops.source.tree import MemoryTree
from tests.conftest import ENV, Serving, run, sample

HELLO = "steps:\n  - return: { value: hello }\n"
LOGIN = """
input: { user: string }
steps:
  - generateAuthToken: { userId: "${ input.user }" }
    as: token
  - return: { value: "${ vars.token }" }
"""


def project(channel: str, authentication: str = "None") -> dict[str, str]:
    return sample(
        functions__hello=HELLO,
        functions__login=LOGIN,
        channels__api=f"name: A\nbasePath: /api\nauthentication: {authentication}\n{channel}",
        channels__other="name: B\nbasePath: /other\nauthentication: None\nrateLimit: 2\n",
        endpoints__hello="channel: api\nmethod: GET\npath: /hello\nfunction: hello\n",
        endpoints__other="channel: other\nmethod: GET\npath: /hello\nfunction: hello\n",
        endpoints__login="method: POST\npath: /login\nfunction: login\nauthentication: None\n",
    )


def told(serving: Serving, files: dict[str, str], tell: Any) -> None:
    async def whole() -> None:
        async with serving(files) as client:
            await tell(client)

    run(whole())


async def token(client: Client, user: str) -> dict[str, str]:
    reply = await client.ask("POST", "/login", {"user": user})
    return {"authorization": f"Bearer {reply.json}"}


def test_beyond_the_limit_it_is_429_with_the_time_to_wait(serving: Serving) -> None:
    async def tell(client: Client) -> None:
        statuses = [(await client.ask("GET", "/api/hello")).status for _ in range(3)]
        assert statuses == [200, 200, 429]
        refused = await client.ask("GET", "/api/hello")
        assert refused.json["error"]["code"] == "rateLimited"
        assert 1 <= int(refused.headers["retry-after"]) <= 120

    told(serving, project("rateLimit: 2\n"), tell)


def test_a_limited_client_is_free_on_another_channel(serving: Serving) -> None:
    async def tell(client: Client) -> None:
        for _ in range(3):
            last = await client.ask("GET", "/api/hello")
        assert last.status == 429
        assert (await client.ask("GET", "/other/hello")).status == 200

    told(serving, project("rateLimit: 2\n"), tell)


def test_with_jwt_each_user_has_a_limit_of_their_own(serving: Serving) -> None:
    async def tell(client: Client) -> None:
        ada, bob = await token(client, "ada"), await token(client, "bob")
        for _ in range(2):
            assert (await client.ask("GET", "/api/hello", headers=ada)).status == 200
        assert (await client.ask("GET", "/api/hello", headers=ada)).status == 429
        assert (await client.ask("GET", "/api/hello", headers=bob)).status == 200

    told(serving, project("rateLimit: 2\n", "JWT"), tell)


def test_guesses_without_a_valid_token_are_counted_by_address(serving: Serving) -> None:
    async def tell(client: Client) -> None:
        wrong = {"authorization": "Bearer guess"}
        statuses = [(await client.ask("GET", "/api/hello", headers=wrong)).status for _ in range(3)]
        assert statuses == [401, 401, 429]

    told(serving, project("rateLimit: 2\n", "JWT"), tell)


def test_zero_is_no_limit(serving: Serving) -> None:
    async def tell(client: Client) -> None:
        statuses = {(await client.ask("GET", "/api/hello")).status for _ in range(200)}
        assert statuses == {200}

    told(serving, project("rateLimit: 0\n"), tell)


def test_counters_and_tokens_outlive_a_release(tmp_path: Any) -> None:
    async def whole() -> None:
        lasting, tree = Lasting(), MemoryTree(project("rateLimit: 2\n"))
        for expected in (200, 200, 429):
            async with serve(tree, tmp_path / "data.sqlite", ENV, lasting=lasting) as client:
                assert (await client.ask("GET", "/api/hello")).status == expected

    run(whole())


def test_any_origin_may_read_a_channel_that_says_nothing(serving: Serving) -> None:
    async def tell(client: Client) -> None:
        reply = await client.ask("GET", "/api/hello", headers={"origin": "https://a.example"})
        assert reply.headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-credentials" not in reply.headers
        outside = await client.ask(
            "POST", "/login", {"user": "a"}, headers={"origin": "https://a.example"}
        )
        assert "access-control-allow-origin" not in outside.headers

    told(serving, project(""), tell)


CORS = """
cors:
  origins: [https://app.example]
  methods: [GET, POST]
  headers: [authorization]
  credentials: true
"""


def test_only_listed_origins_may_read_and_send_credentials(serving: Serving) -> None:
    async def tell(client: Client) -> None:
        mine = await client.ask("GET", "/api/hello", headers={"origin": "https://app.example"})
        assert mine.headers["access-control-allow-origin"] == "https://app.example"
        assert mine.headers["access-control-allow-credentials"] == "true"
        assert mine.headers["vary"] == "origin"
        other = await client.ask("GET", "/api/hello", headers={"origin": "https://evil.example"})
        assert other.status == 200
        assert "access-control-allow-origin" not in other.headers
        assert other.headers["vary"] == "origin"

    told(serving, project(CORS), tell)


def test_a_preflight_is_answered_without_running_anything(serving: Serving) -> None:
    async def tell(client: Client) -> None:
        asked = {
            "origin": "https://app.example", "access-control-request-method": "GET",
            "access-control-request-headers": "authorization",
        }  # fmt: skip
        reply = await client.ask("OPTIONS", "/api/hello", headers=asked)
        assert reply.status == 204
        assert reply.headers["access-control-allow-origin"] == "https://app.example"
        assert reply.headers["access-control-allow-methods"] == "GET, POST"
        assert reply.headers["access-control-allow-headers"] == "authorization"
        assert reply.headers["access-control-max-age"] == "600"
        evil = await client.ask("OPTIONS", "/api/hello", headers=asked | {"origin": "https://e.e"})
        assert "access-control-allow-methods" not in evil.headers

    told(serving, project(CORS, "JWT"), tell)


def test_errors_can_be_read_by_the_page_too(serving: Serving) -> None:
    async def tell(client: Client) -> None:
        reply = await client.ask("GET", "/api/hello", headers={"origin": "https://app.example"})
        assert reply.status == 401
        assert reply.headers["access-control-allow-origin"] == "https://app.example"

    told(serving, project(CORS, "JWT"), tell)
