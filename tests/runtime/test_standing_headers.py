"""Headers that the server gives answers by itself: who asked what, and what a browser may do."""

from __future__ import annotations

from typing import Any

import pytest

from bbops.compiler.testing.client import Client
from tests.conftest import Serving, run, with_function
from tests.support.raw_requests import Ask, routes, talk, token

PLAIN = "steps:\n  - return: { value: 1 }\n"
WHICH = "steps:\n  - return: { value: '${ request.id }' }\n"
PAGE = "steps:\n  - return: { value: <p>x</p>, contentType: text/html }\n"
FAIL = "steps:\n  - loop: { while: 1 == 1, max: 1, steps: [log: { message: a }] }\n"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/x", 200), ("HEAD", "/x", 200), ("GET", "/none", 404), ("DELETE", "/x", 405),
     ("OPTIONS", "/x", 204), ("GET", "/in", 401), ("POST", "/bad", 500)],
)  # fmt: skip
def test_every_answer_names_its_request_and_is_what_it_says(
    method: str, path: str, status: int, ask: Ask
) -> None:
    files = routes("GET /x p None", "GET /in p JWT", "POST /bad f None", p=PLAIN, f=FAIL)
    reply = ask(files, method, path)
    assert reply.status == status
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["x-request-id"]


def test_a_request_has_one_id_everywhere(serving: Serving) -> None:
    answered: list[tuple[Any, ...]] = []
    files = routes("GET /x w None", "POST /bad f None", w=WHICH, f=FAIL)

    async def whole() -> None:
        async with serving(files, history=answered.append) as client:
            given = {"x-request-id": "mine"}
            found = [await client.ask("GET", "/x", headers=given) for _ in range(2)]
            assert len({one.json for one in found}) == 2
            assert [one.json for one in found] == [one.headers["x-request-id"] for one in found]
            assert [one[10].decode() for one in answered] == [one.json for one in found]
            failed = await client.ask("POST", "/bad", {"value": "a"})
            name = failed.headers["x-request-id"]
            assert (answered[-1][10].decode(), failed.json["error"]["requestId"]) == (name, name)
            assert client.release.answering.host.log.lines[-1][2]["request"] == name

    run(whole())


def test_what_somebody_signed_in_sees_is_nobody_elses(serving: Serving) -> None:
    own = "steps:\n  - return: { value: 1, headers: { cache-control: max-age=5 } }\n"
    files = routes("GET /in p JWT", "GET /own o JWT", "GET /out p None", p=PLAIN, o=own)

    async def tell(client: Client) -> None:
        kept = {
            path: (await client.ask("GET", path, headers=token())).headers.get("cache-control")
            for path in ("/in", "/own", "/out")
        }
        assert kept == {"/in": "private, no-cache", "/own": "max-age=5", "/out": None}

    talk(serving, files, tell)


def test_no_failure_is_kept(ask: Ask) -> None:
    assert ask(with_function(PLAIN), "GET", "/none").headers["cache-control"] == "no-store"
    own = "steps:\n  - throw: { status: 410, headers: { cache-control: max-age=9 } }\n"
    assert ask(with_function(own), "POST", "/run").headers["cache-control"] == "max-age=9"


def test_a_page_is_framed_by_its_own_site_alone(ask: Ask) -> None:
    reply = ask(with_function(PAGE), "POST", "/run")
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert reply.headers["x-frame-options"] == "SAMEORIGIN"
    assert reply.headers["referrer-policy"] == "strict-origin-when-cross-origin"
    changed = PAGE.replace("text/html }", "text/html, headers: { x-frame-options: DENY } }")
    assert ask(with_function(changed), "POST", "/run").headers["x-frame-options"] == "DENY"
    assert "x-frame-options" not in ask(with_function(PLAIN), "POST", "/run").headers
