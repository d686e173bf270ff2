"""Pages of other origins: the methods, headers and refusals of a channel that they may use."""

from __future__ import annotations

from typing import Any

import pytest

from bbops.compiler.testing.client import Client
from tests.conftest import Serving, run, sample

APP = "https://app.example"
OTHER = "https://other.example"
HELLO = "steps:\n  - return: { value: hello }\n"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def channel(path: str, cors: str = "") -> str:
    return f"name: A\nbasePath: {path}\nauthentication: None\n{cors}"


def endpoint(method: str, path: str, of: str | None = "api") -> str:
    shared = f"channel: {of}\n" if of else "authentication: None\n"
    return f"{shared}method: {method}\npath: {path}\nfunction: hello\n"


def notes(cors: str = "", **more: str) -> dict[str, str]:
    """A project whose path `/api/notes/:id` answers every method."""
    every = {f"endpoints__{one.lower()}": endpoint(one, "/notes/:id") for one in METHODS}
    return sample(functions__hello=HELLO, channels__api=channel("/api", cors), **every, **more)


def asking(method: str, origin: str = APP, **more: str) -> dict[str, str]:
    return {"origin": origin, "access-control-request-method": method} | {
        name.replace("_", "-"): value for name, value in more.items()
    }


def ask(serving: Serving, files: dict[str, str], *request: Any, **more: Any) -> Any:
    async def whole() -> Any:
        async with serving(files) as client:
            return await client.ask(*request, **more)

    return run(whole())


@pytest.mark.parametrize("method", METHODS)
def test_a_preflight_lists_every_method_of_the_path(serving: Serving, method: str) -> None:
    reply = ask(serving, notes(), "OPTIONS", "/api/notes/1", headers=asking(method))
    assert reply.status == 204
    allowed = reply.headers["access-control-allow-methods"].split(", ")
    assert {*METHODS} <= {*allowed}


def test_a_preflight_lists_the_methods_of_a_literal_path_and_of_its_parameter(
    serving: Serving,
) -> None:
    files = notes(endpoints__new=endpoint("GET", "/notes/new"))
    reply = ask(serving, files, "OPTIONS", "/api/notes/new", headers=asking("DELETE"))
    assert "DELETE" in reply.headers["access-control-allow-methods"]


def test_a_method_of_a_route_outside_channels_is_not_allowed(serving: Serving) -> None:
    files = sample(
        functions__hello=HELLO, channels__api=channel("/api"),
        endpoints__get=endpoint("GET", "/notes"), endpoints__post=endpoint("POST", "/notes"),
        endpoints__delete=endpoint("DELETE", "/api/notes", None),
    )  # fmt: skip
    post = ask(serving, files, "OPTIONS", "/api/notes", headers=asking("POST"))
    assert post.headers["access-control-allow-methods"] == "GET, HEAD, POST"
    delete = ask(serving, files, "OPTIONS", "/api/notes", headers=asking("DELETE"))
    assert "access-control-allow-origin" not in delete.headers


def test_a_path_of_two_channels_answers_by_the_one_that_has_the_method(serving: Serving) -> None:
    mine = f"cors: {{ origins: ['{APP}'], credentials: true }}\n"
    files = sample(
        functions__hello=HELLO, channels__api=channel("/api"), channels__mine=channel("/api", mine),
        endpoints__get=endpoint("GET", "/notes"), endpoints__put=endpoint("PUT", "/notes", "mine"),
    )  # fmt: skip
    put = ask(serving, files, "OPTIONS", "/api/notes", headers=asking("PUT"))
    assert put.headers["access-control-allow-origin"] == APP
    assert put.headers["access-control-allow-methods"] == "PUT"
    strange = ask(serving, files, "OPTIONS", "/api/notes", headers=asking("PUT", OTHER))
    assert "access-control-allow-methods" not in strange.headers
    get = ask(serving, files, "OPTIONS", "/api/notes", headers=asking("GET", OTHER))
    assert get.headers["access-control-allow-methods"] == "GET, HEAD"


def test_own_methods_of_a_channel_replace_those_of_the_path(serving: Serving) -> None:
    files = notes("cors: { methods: [GET, PATCH] }\n")
    reply = ask(serving, files, "OPTIONS", "/api/notes/1", headers=asking("PATCH"))
    assert reply.headers["access-control-allow-methods"] == "GET, PATCH"


def test_a_preflight_for_a_method_that_the_path_lacks_allows_nothing(serving: Serving) -> None:
    files = sample(
        functions__hello=HELLO, channels__api=channel("/api"), endpoints__a=endpoint("GET", "/a")
    )
    reply = ask(serving, files, "OPTIONS", "/api/a", headers=asking("DELETE"))
    assert reply.status == 204
    assert reply.headers["allow"] == "GET, HEAD, OPTIONS"
    assert "access-control-allow-methods" not in reply.headers


LISTED = f"cors: {{ origins: ['{APP}'], credentials: true, expose: [X-Total, etag] }}\n"


@pytest.mark.parametrize(("method", "path", "status"), [
    ("DELETE", "/api/new", 405), ("GET", "/api/nothing", 404), ("GET", "/api", 404),
])  # fmt: skip
def test_a_page_reads_405_and_404_below_a_channel(
    serving: Serving, method: str, path: str, status: int
) -> None:
    files = notes(LISTED, endpoints__new=endpoint("GET", "/new"))
    reply = ask(serving, files, method, path, headers={"origin": APP})
    assert reply.status == status
    assert reply.headers["access-control-allow-origin"] == APP
    assert reply.headers["access-control-allow-credentials"] == "true"
    other = ask(serving, files, method, path, headers={"origin": OTHER})
    assert "access-control-allow-origin" not in other.headers
    assert other.headers["vary"] == "origin"


def test_a_preflight_for_an_unknown_path_lets_a_page_read_the_404(serving: Serving) -> None:
    reply = ask(serving, notes(), "OPTIONS", "/api/nothing", headers=asking("PUT"))
    assert reply.status == 204
    assert "PUT" in reply.headers["access-control-allow-methods"]


@pytest.mark.parametrize("path", ["/", "/apis", "/ap", "/v2/api"])
def test_no_channel_answers_for_a_path_outside_of_it(serving: Serving, path: str) -> None:
    reply = ask(serving, notes(), "GET", path, headers={"origin": APP})
    assert reply.status == 404
    assert "access-control-allow-origin" not in reply.headers
    asked = ask(serving, notes(), "OPTIONS", path, headers=asking("GET"))
    assert asked.status == 404
    assert "access-control-allow-origin" not in asked.headers


def test_the_longest_base_path_that_allows_the_origin_answers(serving: Serving) -> None:
    files = sample(
        functions__hello=HELLO, channels__api=channel("/api"),
        channels__team=channel("/api/teams/:team", LISTED),
        endpoints__a=endpoint("GET", "/a"), endpoints__b=endpoint("GET", "/b", "team"),
    )  # fmt: skip

    async def whole() -> None:
        async with serving(files) as client:
            assert await origins(client, "/api/teams/1/none") == [APP, "*"]
            assert await origins(client, "/api/none") == ["*", "*"]

    async def origins(client: Client, path: str) -> list[str]:
        replies = [await client.ask("GET", path, headers={"origin": one}) for one in (APP, OTHER)]
        return [one.headers.get("access-control-allow-origin", "") for one in replies]

    run(whole())


def test_pages_read_the_headers_of_ranges_and_files_and_those_that_a_channel_exposes(
    serving: Serving,
) -> None:
    reply = ask(serving, notes(LISTED), "GET", "/api/notes/1", headers={"origin": APP})
    exposed = reply.headers["access-control-expose-headers"].split(", ")
    assert {"content-range", "accept-ranges", "content-disposition", "x-total"} <= {*exposed}
    assert exposed.count("etag") == 1
