"""What a channel gives its endpoints: limits that are told, origins, middleware, a next version."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from bbops.compiler.testing.client import Client, serve
from bbops.interfaces.cli._root_group import RootGroup
from bbops.source.tree import FolderTree
from bbops_server.data_plane.gateway.gateway import Proxies
from tests.conftest import ENV, Serving, run
from tests.support.raw_requests import Ask, routes, talk, token

HELLO = "steps:\n  - return: { value: hello }\n"
WHO = "steps:\n  - return: { value: '${ request.ip }' }\n"
PLACE = "name: A\nbasePath: /api\nauthentication: {}\n{}"
LIMITED = PLACE.format("None", "rateLimit: 3\n")
ORIGIN = {"origin": "https://a.example"}
PREFLIGHT = ORIGIN | {"access-control-request-method": "GET"}


def hello(channel: str, function: str = HELLO) -> dict[str, str]:
    return routes("GET /hello hello -", channel=channel, hello=function)


# ---- limits
def test_every_answer_tells_what_is_left_of_the_limit(serving: Serving) -> None:
    async def tell(client: Client) -> None:
        replies = [await client.ask("GET", "/api/hello") for _ in range(4)]
        assert {one.headers["ratelimit-policy"] for one in replies} == {'"api";q=3;w=60'}
        states = [one.headers["ratelimit"].partition(";t=") for one in replies]
        assert [state for state, _, _ in states] == [f'"api";r={left}' for left in (2, 1, 0, 0)]
        assert all(1 <= int(seconds) <= 60 for _, _, seconds in states[:3])
        assert states[3][2] == replies[3].headers["retry-after"]

    talk(serving, hello(LIMITED), tell)


def test_refusals_and_mistakes_tell_it_too(serving: Serving) -> None:
    async def tell(client: Client) -> None:
        reply = await client.ask("GET", "/api/hello")
        assert (reply.status, reply.headers["ratelimit"][:9]) == (401, '"api";r=2')

    talk(serving, hello(PLACE.format("JWT", "rateLimit: 3\n")), tell)


def test_a_channel_without_a_limit_tells_of_none(ask: Ask) -> None:
    assert "ratelimit" not in ask(hello(PLACE.format("None", "")), "GET", "/api/hello").headers


def test_a_page_of_another_origin_may_read_what_is_left(ask: Ask) -> None:
    reply = ask(hello(LIMITED), "GET", "/api/hello", headers=ORIGIN)
    exposed = reply.headers["access-control-expose-headers"].split(", ")
    assert {"ratelimit", "ratelimit-policy", "retry-after", "x-request-id"} <= {*exposed}


def test_a_preflight_is_not_counted(serving: Serving) -> None:
    async def tell(client: Client) -> None:
        for _ in range(9):
            assert (await client.ask("OPTIONS", "/api/hello", headers=PREFLIGHT)).status == 204
        assert (await client.ask("GET", "/api/hello")).headers["ratelimit"][:9] == '"api";r=2'

    talk(serving, hello(LIMITED), tell)


def test_an_endpoint_that_opens_itself_is_counted_by_address(serving: Serving) -> None:
    files = routes(
        "GET /open hello None", "GET /closed hello -",
        channel=PLACE.format("JWT", "rateLimit: 1\n"), hello=HELLO,
    )  # fmt: skip

    async def tell(client: Client) -> None:
        statuses = [(await client.ask("GET", "/api/open")).status for _ in range(2)]
        assert statuses == [200, 429]
        assert (await client.ask("GET", "/api/closed")).status == 429
        assert (await client.ask("GET", "/api/closed", headers=token())).status == 200

    talk(serving, files, tell)


@pytest.mark.parametrize(
    ("peer", "said", "client"),
    [
        ("10.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "198.51.100.1, 203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "203.0.113.9, 10.0.0.2", "203.0.113.9"),
        ("192.0.2.5", "203.0.113.9", "192.0.2.5"),
    ],
)
def test_a_limit_counts_whom_a_known_proxy_names(
    serving: Serving, peer: str, said: str, client: str
) -> None:
    channel = PLACE.format("None", "rateLimit: 1\n")

    async def tell(asked: Client) -> None:
        proxies = Proxies(["10.0.0.0/8"])
        told = {"x-forwarded-for": said}
        first = await asked.ask("GET", "/api/hello", headers=told, peer=peer, through=proxies.apply)
        assert (first.status, first.json) == (200, client)
        again = await asked.ask("GET", "/api/hello", headers=told, peer=peer, through=proxies.apply)
        assert again.status == 429
        assert (await asked.ask("GET", "/api/hello", peer=client)).status == 429
        assert (await asked.ask("GET", "/api/hello", peer="203.0.113.77")).status == 200

    talk(serving, hello(channel, WHO), tell)


# ---- origins
@pytest.mark.parametrize("origin", ["https://a.example", "null", "https://evil.example"])
def test_any_origin_never_comes_with_credentials(origin: str, ask: Ask) -> None:
    files = hello(PLACE.format("None", "cors: { origins: ['*', 'https://b.example'] }\n"))
    reply = ask(files, "GET", "/api/hello", headers={"origin": origin})
    assert reply.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in reply.headers


def test_each_channel_has_origins_of_its_own(serving: Serving) -> None:
    files = hello(PLACE.format("None", "cors: { origins: ['https://a.example'] }\n"))
    files["channels/other.yaml"] = (
        "name: B\nbasePath: /b\nauthentication: None\ncors: { origins: ['https://b.example'] }\n"
    )
    files["endpoints/b.yaml"] = "channel: other\nmethod: GET\npath: /hello\nfunction: hello\n"

    async def tell(client: Client) -> None:
        for path, origin in (
            ("/api/hello", "https://a.example"),
            ("/b/hello", "https://b.example"),
        ):
            for asked in ("https://a.example", "https://b.example"):
                headers = {"origin": asked, "access-control-request-method": "GET"}
                for method in ("GET", "OPTIONS"):
                    reply = await client.ask(method, path, headers=headers)
                    allowed = reply.headers.get("access-control-allow-origin")
                    assert allowed == (origin if asked == origin else None)
                    assert reply.headers["vary"] == "origin"

    talk(serving, files, tell)


# ---- versions
@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    for name, text in hello(PLACE.format("None", "rateLimit: 3\n"), WHO).items():
        path = made / name.replace("channels/api", "channels/web-v1").replace("e0", "web-v1/hello")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("/api", "/api/v1").replace("channel: api", "channel: web-v1"))
    return made


def test_a_copied_channel_is_a_version_that_changes_by_itself(folder: Path, tmp_path: Path) -> None:
    arguments = ["copy", "channels/web-v1", "channels/web-v2", "--path", str(folder)]
    result = CliRunner().invoke(RootGroup("bbops"), arguments)
    assert result.exit_code == 0, result.output
    (folder / "functions/hello2.yaml").write_text("steps:\n  - return: { value: second }\n")
    changed = folder / "endpoints/web-v2/hello.yaml"
    changed.write_text(changed.read_text().replace("function: hello", "function: hello2"))

    async def tell() -> None:
        async with serve(FolderTree(folder), tmp_path / "data.sqlite", ENV) as client:
            for _ in range(3):
                assert (await client.ask("GET", "/api/v1/hello")).json == "127.0.0.1"
            assert (await client.ask("GET", "/api/v1/hello")).status == 429
            second = await client.ask("GET", "/api/v2/hello")
            assert (second.status, second.json) == (200, "second")

    run(tell())
