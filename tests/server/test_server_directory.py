"""Which project answers, and whose word about a client is taken."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops_server.data_plane.gateway.gateway import Proxies
from bbops_server.data_plane.live.directory import Directory
from bbops_server.process.messages.projects import ProjectPlace
from tests.support.doors import Door, run
from tests.support.patience import eventually, settle


class Named:
    """Stands where a project does: only which one it is matters here."""

    def __init__(self) -> None:
        self.release = None
        self.project = ""

    async def retire(self) -> None:
        """Have nothing to wait for."""


def find(places: Mapping[str, ProjectPlace], host: str, path: str) -> tuple[str | None, str, bytes]:
    """Return the project that answers, and the path it sees."""

    async def main() -> tuple[str | None, str, bytes]:
        directory = Directory(Named)  # type: ignore[arg-type]
        directory.arrange(places)
        scope: dict[str, Any] = {
            "headers": [(b"accept", b"*/*"), (b"host", host.encode())], "path": path,
            "raw_path": path.encode(),
        }  # fmt: skip
        found = directory.find(scope)
        names = [name for name, live in directory.projects.items() if live is found]
        return names[0] if names else None, scope["path"], scope["raw_path"]

    return asyncio.run(main())


SHOPS = {
    "named": ProjectPlace(("shop.test", "www.shop.test")),
    "named-v1": ProjectPlace(("shop.test",), "/v1"),
    "shop": ProjectPlace((), "/shop"),
    "shop-v2": ProjectPlace((), "/shop/v2"),
}


@pytest.mark.parametrize(
    ("host", "path", "name", "seen"),
    [
        ("shop.test", "/a", "named", "/a"),
        ("SHOP.test.:8000", "/shop/a", "named", "/shop/a"),
        ("www.shop.test", "/v1/a", "named", "/v1/a"),
        ("shop.test:80", "/v1/a", "named-v1", "/a"),
        ("shop.test", "/v1", "named-v1", "/"),
        ("shop.test", "/v1/", "named-v1", "/"),
        ("shop.test", "/v10/a", "named", "/v10/a"),
        ("other.test", "/shop/a", "shop", "/a"),
        ("other.test", "/shop/v2/a/b", "shop-v2", "/a/b"),
        ("other.test", "/shop/v2", "shop-v2", "/"),
        ("other.test", "/shop/v22", "shop", "/v22"),
        ("other.test", "/shopping", None, "/shopping"),
        ("other.test", "/", None, "/"),
        ("[::1]:8000", "/shop//a", "shop", "//a"),
        ("", "/shop", "shop", "/"),
    ],
)
def test_a_host_comes_first_and_then_the_longest_prefix(
    host: str, path: str, name: str | None, seen: str
) -> None:
    assert find(SHOPS, host, path) == (name, seen, seen.encode())


def test_a_project_knows_the_prefix_that_browsers_see() -> None:
    async def main() -> list[str]:
        directory = Directory(Named)  # type: ignore[arg-type]
        directory.arrange(SHOPS)
        scopes: list[dict[str, Any]] = [
            {"headers": [(b"host", host)], "path": path, "raw_path": path.encode()}
            for host, path in ((b"a.test", "/shop/v2/x"), (b"shop.test", "/x"))
        ]
        for scope in scopes:
            directory.find(scope)
        return [scope["root_path"] for scope in scopes]

    assert asyncio.run(main()) == ["/shop/v2", ""]


def test_a_path_is_cut_as_it_was_sent() -> None:
    async def main() -> None:
        directory = Directory(Named)  # type: ignore[arg-type]
        directory.arrange({"shop": ProjectPlace((), "/shop")})
        scope = {"headers": [], "path": "/shop/ä/b", "raw_path": b"/shop/%C3%A4%2Fb"}
        assert directory.find(scope) is directory.projects["shop"]
        assert (scope["path"], scope["raw_path"]) == ("/ä/b", b"/%C3%A4%2Fb")

    asyncio.run(main())


PARTS = st.lists(st.sampled_from("abc"), max_size=4).map(
    lambda parts: "".join(f"/{p}" for p in parts)
)


@given(st.lists(PARTS, unique=True, min_size=1), PARTS)
def test_the_longest_prefix_is_what_trying_all_of_them_finds(
    prefixes: list[str], path: str
) -> None:
    places = {prefix: ProjectPlace((), prefix) for prefix in prefixes}
    fitting = [one for one in prefixes if f"{path}/".startswith(f"{one}/")]
    expected = max(fitting, key=len, default=None)
    found, seen, _ = find(places, "localhost", path or "/")
    assert found == expected
    assert seen == ((path.removeprefix(expected or "") or "/") if expected is not None else seen)


def test_one_project_everywhere_needs_no_table() -> None:
    async def main() -> None:
        directory = Directory(Named)  # type: ignore[arg-type]
        assert directory.only is directory.projects[""]
        directory.arrange({"shop": ProjectPlace()})
        assert directory.only is directory.projects["shop"]
        for place in (ProjectPlace(("shop.test",)), ProjectPlace((), "/shop")):
            directory.arrange({"shop": place})
            assert directory.only is None

    asyncio.run(main())


@pytest.mark.long
def test_a_project_moves_and_leaves_while_its_requests_end_where_they_began(
    tmp_path: Path,
) -> None:
    async def test(door: Door) -> None:
        directory = door.directory
        await door.publish(1)
        directory.arrange({"": ProjectPlace((), "/small"), "new": ProjectPlace()})
        assert (await door.ask("/small/hello"))[2] == {"text": "hi", "version": 1}
        assert (await door.ask("/hello"))[0] == 503
        body, request = await door.begin_note("/small/notes")
        directory.arrange({"new": ProjectPlace((), "/new")})
        status, _, answer = await door.ask("/small/hello")
        assert (status, answer["error"]) == (
            404, {"code": "notFound", "message": "no project answers here"}
        )  # fmt: skip
        await settle()
        assert directory._leaving
        body.send()
        status, _, note = await request
        assert (status, note["title"]) == (201, "late")
        await eventually(lambda: not directory._leaving)

    run(tmp_path, test)


def test_ready_is_when_all_that_were_ever_live_are(tmp_path: Path) -> None:
    async def test(door: Door) -> None:
        await door.publish(1)
        both = {"": ProjectPlace((), "/small"), "old": ProjectPlace((), "/old", was_live=True)}
        door.directory.arrange(both)
        status, _, body = await door.ask("/~ready")
        assert (status, body["status"]) == (503, "notReady")
        door.directory.arrange(both | {"old": ProjectPlace((), "/old")})
        status, _, body = await door.ask("/~ready")
        assert (status, body["projects"]) == (200, {"small": "r1", "old": None})
        door.directory.arrange({"old": ProjectPlace((), "/old")})
        assert (await door.ask("/~ready"))[0] == 503
        door.directory.arrange({})
        assert (await door.ask("/~ready"))[0] == 200

    run(tmp_path, test)


PROXIES = Proxies(["10.0.0.0/8", "fd00::1"])


@pytest.mark.parametrize(
    ("peer", "hops", "client"),
    [
        ("192.0.2.1", ["198.51.100.7"], "192.0.2.1"),
        ("10.0.0.1", ["198.51.100.7"], "198.51.100.7"),
        ("::ffff:10.0.0.1", ["198.51.100.7"], "198.51.100.7"),
        ("fd00::1", ["203.0.113.9, 198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", ["203.0.113.9", "198.51.100.7, 10.0.0.2"], "198.51.100.7"),
        ("10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        ("10.0.0.1", ["198.51.100.7, unknown"], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.7, "], "10.0.0.1"),
        ("10.0.0.1", ["[2001:db8::7]"], "2001:db8::7"),
        ("10.0.0.1", [], "10.0.0.1"),
    ],
)
def test_the_last_address_no_proxy_has_is_the_client(
    peer: str, hops: list[str], client: str
) -> None:
    scope: dict[str, Any] = {
        "client": (peer, 1), "scheme": "http",
        "headers": [(b"x-forwarded-for", hop.encode()) for hop in hops],
    }  # fmt: skip
    PROXIES.apply(scope)
    assert scope["client"][0] == client


@pytest.mark.parametrize(
    ("peer", "said", "scheme"),
    [
        ("10.0.0.1", b"https", "https"),
        ("10.0.0.1", b"http, HTTPS", "https"),
        ("10.0.0.1", b"gopher", "http"),
        ("192.0.2.1", b"https", "http"),
    ],
)
def test_a_known_proxy_says_which_scheme_was_used(peer: str, said: bytes, scheme: str) -> None:
    scope = {"client": (peer, 1), "scheme": "http", "headers": [(b"x-forwarded-proto", said)]}
    PROXIES.apply(scope)
    assert scope["scheme"] == scheme
