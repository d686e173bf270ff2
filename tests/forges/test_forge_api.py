"""Limits, failures, pages and redirects of a forge's API, on the stand-in for GitHub."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import msgspec
import pytest

from bbops.base.host import HttpRequest, HttpResponse
from bbops_server.forges.api import decode
from bbops_server.forges.api_limits import ResponseCache, make_error
from bbops_server.forges.github import GitHubForge
from bbops_server.forges.hosted import (
    ForgeAway,
    ForgeConflict,
    ForgeError,
    ForgeForbidden,
    ForgeGone,
)
from bbops_server.forges.on_github.shapes import GitHubPull
from bbops_server.forges.values import NewPullRequest
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.process.host.secrets import Secrets
from tests.support.github.connected import TOKEN_ENV, Client, Run, bind_token
from tests.support.github.server import GitHubServer
from tests.support.github.world import GitHubWorld, push

WISH = NewPullRequest("topic", "main", "Add a", "")


@pytest.fixture
def forge(world: GitHubWorld, client: Client) -> GitHubForge:
    """A client with a token; branch `topic` is pushed."""
    push(world.repo, "topic", {"a.txt": "a"}, who="bea")
    return client.with_token()


@pytest.mark.parametrize("status", [500, 502, 503, 0])
def test_read_is_repeated_at_most_twice(
    github: GitHubServer, forge: GitHubForge, status: int, run: Run
) -> None:
    github.faults.add("GET", "/pulls", times=2, status=status)
    assert run(forge.list_open("main")) == []
    assert len(github.requests) == 3
    github.faults.add("GET", "/pulls", times=3, status=status)
    with pytest.raises(ForgeAway, match=r"127.0.0.1:\d+ is not available: GET /api/v3/repos"):
        run(forge.list_open("main"))
    assert len(github.requests) == 6


@pytest.mark.parametrize("status", [500, 502, 0])
def test_write_is_never_repeated(
    github: GitHubServer, world: GitHubWorld, forge: GitHubForge, status: int, run: Run
) -> None:
    github.faults.add("POST", "/pulls", status=status, is_done=True)
    with pytest.raises(ForgeAway) as caught:
        run(forge.open(WISH))
    assert caught.value.is_sent
    assert len(github.requests) == len(world.pulls) == 1


@pytest.mark.parametrize("header", ["location", "link"])
def test_invalid_addresses_of_a_forge_are_errors_of_the_forge(
    github: GitHubServer, forge: GitHubForge, header: str, run: Run
) -> None:
    is_link = header == "link"
    value = '<http://[>; rel="next"' if is_link else "http://["
    github.faults.add(
        "GET", "/pulls", status=200 if is_link else 302, headers={header: value}, value=[]
    )
    if is_link:
        assert run(forge.list_open("main")) == []
        return
    with pytest.raises(ForgeError, match="redirects to another server"):
        run(forge.list_open("main"))


def test_deeply_nested_answers_are_errors_of_the_forge() -> None:
    nested = b'{"message": %s' % (b"[" * 200_000)
    with pytest.raises(ForgeError, match="unknown form"):
        decode(HttpResponse(200, {}, nested), GitHubPull)
    request = HttpRequest("GET", "https://github.com/x", {}, b"", 1.0)
    assert make_error(request, HttpResponse(403, {}, nested), "").message.endswith("with 403")


def test_the_page_of_a_pull_request_is_a_web_page() -> None:
    end = {"ref": "main", "sha": "0" * 40}
    pull = {"number": 1, "title": "x", "state": "open", "head": end, "base": end}
    values = [
        msgspec.convert({**pull, "html_url": url}, GitHubPull).value().url
        for url in ("javascript:alert(1)", "https://github.com/acme/shop/pull/1")
    ]
    assert values == ["", "https://github.com/acme/shop/pull/1"]


def test_unreachable_forge_is_away(client: Client, run: Run) -> None:
    client.server.server_close()
    client.server.shutdown()
    with pytest.raises(ForgeAway) as caught:
        run(client.with_token().open(WISH))
    assert not caught.value.is_sent


def test_primary_limit_stops_requests_until_its_reset(
    github: GitHubServer, forge: GitHubForge, client: Client, run: Run
) -> None:
    reset = int(client.clock.now().timestamp()) + 600
    github.faults.limit("GET", "/pulls", reset=reset)
    for _ in range(2):
        with pytest.raises(ForgeAway, match="limits requests for 600 s") as caught:
            run(forge.list_open("main"))
        assert caught.value.wait_seconds == 600
    assert len(github.requests) == 1
    client.clock.move(600)
    assert run(forge.list_open("main")) == []


def test_last_request_of_a_window_stops_the_next(
    github: GitHubServer, forge: GitHubForge, run: Run
) -> None:
    github.left = 1
    assert run(forge.list_open("main")) == []
    with pytest.raises(ForgeAway):
        run(forge.list_open("main"))
    assert len(github.requests) == 1


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_retry_after_is_respected(
    github: GitHubServer, forge: GitHubForge, client: Client, method: str, run: Run
) -> None:
    github.faults.limit_secondary(method, "/pulls", after=90)
    with pytest.raises(ForgeAway) as caught:
        run(forge.list_open("main") if method == "GET" else forge.open(WISH))
    assert (caught.value.wait_seconds, caught.value.is_sent) == (90, False)
    client.clock.move(89)
    with pytest.raises(ForgeAway):
        run(forge.get(1))
    assert len(github.requests) == 1


def test_pause_of_a_limit_without_a_time_doubles(
    github: GitHubServer, forge: GitHubForge, client: Client, run: Run
) -> None:
    pauses = []
    for _ in range(8):
        github.faults.limit_secondary("GET", "/pulls")
        with pytest.raises(ForgeAway) as caught:
            run(forge.list_open("main"))
        pauses.append(caught.value.wait_seconds)
        client.clock.move(pauses[-1])
    assert pauses == [60, 120, 240, 480, 960, 1920, 3600, 3600]
    assert run(forge.list_open("main")) == []


def test_date_of_retry_after_is_read(
    github: GitHubServer, forge: GitHubForge, client: Client, run: Run
) -> None:
    headers = {"retry-after": client.clock.now().strftime("%a, %d %b %Y 12:02:00 GMT")}
    github.faults.add("GET", "/pulls", status=503, headers=headers)
    with pytest.raises(ForgeAway) as caught:
        run(forge.list_open("main"))
    assert caught.value.wait_seconds == 120


def test_slow_response_blocks_no_other_request(
    github: GitHubServer, forge: GitHubForge, run: Run
) -> None:
    gate = threading.Event()
    github.faults.add("GET", "/pulls$", gate=gate)

    async def ask() -> tuple[object, object]:
        slow = asyncio.create_task(forge.list_open("main"))
        rights = await forge.may_write("ada")
        gate.set()
        return rights, await slow

    assert run(ask()) == (True, [])


def test_rejected_token_needs_a_new_one(
    world: GitHubWorld, forge: GitHubForge, client: Client, run: Run
) -> None:
    world.end_tokens()
    with pytest.raises(ForgeForbidden, match="401: Bad credentials") as caught:
        run(forge.list_open("main"))
    assert "bbops forge connect" in caught.value.hint
    client.values[TOKEN_ENV] = world.add_token()
    assert run(forge.list_open("main")) == []


def test_missing_right_is_named(client: Client, run: Run, world: GitHubWorld) -> None:
    push(world.repo, "topic", {"a.txt": "a"})
    forge = client.with_token(pull_requests="read")
    with pytest.raises(ForgeForbidden, match="Resource not accessible") as caught:
        run(forge.open(WISH))
    assert caught.value.hint == "the credential needs the right 'pull_requests: write'"


@pytest.mark.parametrize(
    ("status", "error"),
    [(400, ForgeError), (403, ForgeForbidden), (404, ForgeGone), (405, ForgeConflict),
     (409, ForgeConflict), (410, ForgeGone), (422, ForgeConflict), (451, ForgeError)],
)  # fmt: skip
def test_status_has_its_error(
    github: GitHubServer, forge: GitHubForge, status: int, error: type[ForgeError], run: Run
) -> None:
    github.faults.add("*", "/pulls", status=status, value={"message": "because"}, times=2)
    for call in (forge.open(WISH), forge.get(1)):
        with pytest.raises(ForgeError, match="because") as caught:
            run(call)
        assert type(caught.value) is error


def test_message_is_one_short_line_without_the_token(
    github: GitHubServer, forge: GitHubForge, client: Client, run: Run
) -> None:
    token = client.values[TOKEN_ENV]
    details = [{"field": "head", "code": "invalid"}, {"message": f"{token}\n\x1b[31m"}, 7]
    value = {"message": f"no {token} " + "x" * 1_000, "errors": details}
    for status in (422, 500):
        github.faults.add("POST", "/pulls", status=status, value=value)
        with pytest.raises(ForgeError) as caught:
            run(forge.open(WISH))
        text = f"{caught.value}{caught.value!r}{caught.value.__cause__!r}"
        assert token not in text
        assert len(caught.value.message) < 500
        assert "\n" not in caught.value.message


@pytest.mark.parametrize("value", [None, [], "text", {"number": "x"}, {"message": {}}])
def test_response_of_another_form_is_an_error(
    github: GitHubServer, forge: GitHubForge, value: object, run: Run
) -> None:
    github.faults.add("GET", "/pulls/1", status=200, value=value)
    with pytest.raises(ForgeError, match="unknown form"):
        run(forge.get(1))


def test_large_response_is_an_error(github: GitHubServer, forge: GitHubForge, run: Run) -> None:
    github.faults.add("GET", "/pulls/1", status=200, value={"title": "x" * (17 << 20)})
    with pytest.raises(ForgeError, match="more than 16,777,216 bytes"):
        run(forge.get(1))


def test_private_address_needs_a_permission(github: GitHubServer, tmp_path: Path, run: Run) -> None:
    secrets = Secrets(tmp_path, {TOKEN_ENV: "t"})
    forge = GitHubForge(bind_token(github), secrets, EgressPolicy())
    with pytest.raises(ForgeError, match="address not allowed"):
        run(forge.list_open("main"))


def test_renamed_repository_is_followed_and_remembered(
    world: GitHubWorld, github: GitHubServer, forge: GitHubForge, run: Run
) -> None:
    world.rename("newco/store")
    assert run(forge.open(WISH)).number == 1
    assert run(forge.get(1)).number == 1
    with github.counted() as requests:
        assert run(forge.find("topic", "main")).number == 1
    assert all(" /repositories/1001/" in request for request in requests)


def test_redirect_to_another_server_is_an_error(
    github: GitHubServer, forge: GitHubForge, run: Run
) -> None:
    headers = {"location": "http://127.0.0.1:1/repositories/1001/pulls"}
    github.faults.add("*", "/pulls", status=301, headers=headers, times=2)
    for call in (forge.list_open("main"), forge.open(WISH)):
        with pytest.raises(ForgeError, match="redirects to another server"):
            run(call)


def test_write_does_not_follow_a_redirect_that_would_change_it(
    github: GitHubServer, forge: GitHubForge, run: Run
) -> None:
    headers = {"location": f"{github.url}/api/v3/repositories/1001/pulls"}
    github.faults.add("POST", "/pulls", status=301, headers=headers)
    with pytest.raises(ForgeGone, match="has moved"):
        run(forge.open(WISH))


def test_redirects_in_a_circle_are_an_error(
    github: GitHubServer, forge: GitHubForge, run: Run
) -> None:
    headers = {"location": f"{github.url}/api/v3/repos/acme/shop/pulls/1"}
    github.faults.add("GET", "/pulls/1", status=302, headers=headers, times=9)
    with pytest.raises(ForgeError, match="in a circle"):
        run(forge.get(1))


def test_next_page_of_another_server_is_not_read(
    github: GitHubServer, forge: GitHubForge, run: Run
) -> None:
    headers = {"link": '<http://127.0.0.1:1/steal>; rel="next"'}
    github.faults.add("GET", "/pulls", status=200, value=[], headers=headers)
    assert run(forge.list_open("main")) == []


def test_endless_pages_end(github: GitHubServer, forge: GitHubForge, run: Run) -> None:
    url = f"{github.url}/api/v3/repos/acme/shop/pulls/1/reviews?page=2"
    headers = {"link": f'<{url}>; rel="next"'}
    github.faults.add("GET", "/reviews", status=200, value=[], headers=headers, times=100)
    with pytest.raises(ForgeError, match="more than 20 pages"):
        run(forge.list_reviews(1))
    assert len(github.requests) == 20


def test_token_with_a_line_break_is_not_sent(
    github: GitHubServer, forge: GitHubForge, client: Client, run: Run
) -> None:
    client.values[TOKEN_ENV] = "first\r\nx-injected: 1"
    with pytest.raises(ForgeForbidden, match=f"the value of '{TOKEN_ENV}' is not a token"):
        run(forge.list_open("main"))
    client.values[TOKEN_ENV] = ""
    with pytest.raises(ForgeForbidden, match=f"no value for {TOKEN_ENV}"):
        run(forge.list_open("main"))
    assert github.requests == []


def test_requests_are_counted(github: GitHubServer, forge: GitHubForge, run: Run) -> None:
    run(forge.list_open("main"))
    run(forge.list_open("main"))
    assert forge.requests == len(github.requests) == 2


def response(size: int, etag: str = '"1"') -> HttpResponse:
    return HttpResponse(200, {"etag": etag} if etag else {}, b"x" * size)


def test_cache_drops_the_oldest_response_first() -> None:
    cache = ResponseCache(max_entries=2, max_bytes=100)
    for name in "ab":
        cache.keep(name, response(10))
    assert cache.find("a")
    cache.keep("c", response(10))
    assert [bool(cache.find(name)) for name in "abc"] == [True, False, True]
    cache.keep("d", response(95))
    assert [bool(cache.find(name)) for name in "acd"] == [False, False, True]


def test_cache_ignores_large_responses_and_those_without_an_etag() -> None:
    cache = ResponseCache(max_bytes=100)
    cache.keep("a", response(101))
    cache.keep("b", response(1, etag=""))
    assert len(cache) == 0
