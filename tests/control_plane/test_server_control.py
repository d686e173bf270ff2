"""The control plane: what it tells, and whom it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.support.control import URL, OneProject, Tried, fresh

pytestmark = pytest.mark.quick

__all__ = ["fresh"]

Ask = Callable[..., httpx.Response]


@pytest.fixture
def ask(fresh: Tried) -> Ask:
    """Asks while nobody has an account, so that this machine's user may do everything."""

    def asking(
        path: str, *, method: str = "GET", headers: dict[str, str] | None = None,
        source: OneProject | None = None, body: Any = None,
    ) -> httpx.Response:  # fmt: skip
        fresh.control.status = source or OneProject()
        given = {"accept": "application/json"} | (headers or {})
        return fresh.browser().call(method, path, headers=given, json=body)

    return asking


def test_projects_are_listed_with_what_is_live(ask: Ask) -> None:
    assert ask("/api/projects").json() == [
        {"name": "small", "revision": "main@sha1:a", "url": "http://127.0.0.1:8000", "ready": True}
    ]


def test_a_status_tells_conditions_and_diagnostics(ask: Ask) -> None:
    status = ask("/api/projects/small/status").json()
    assert status["attempted_revision"] == "main@sha1:b"
    assert status["conditions"][0]["since"] == "2026-01-02T00:00:00Z"
    assert status["diagnostics"][0]["file"] == "a.yaml"


def test_reconcile_is_accepted_and_passed_on(ask: Ask) -> None:
    source = OneProject()
    answer = ask("/api/projects/small/reconcile", method="POST", source=source)
    assert (answer.status_code, source.asked) == (202, ["small"])
    assert answer.json() == {"status": "accepted", "requested_at": "2026-01-02T00:00:00Z"}
    again = ask("/api/projects/small/reconcile?again=true", method="POST", source=source)
    assert (again.status_code, source.asked) == (202, ["small", "small again"])


def test_a_held_commit_is_accepted_or_the_reason_why_not_is_told(ask: Ask) -> None:
    source, path = OneProject(), "/api/projects/small/accept"
    taken = ask(path, method="POST", source=source, body={"commit": "b" * 7})
    assert (taken.status_code, source.asked) == (202, ["small bbbbbbb"])
    other = ask(path, method="POST", body={"commit": "c"})
    assert other.status_code == 409
    assert other.json() == {"error": {"code": "conflict", "message": "commit 'c' does not wait"}}
    unknown = ask("/api/projects/x/accept", method="POST", body={"commit": "b" * 7})
    assert unknown.status_code == 404
    for body in (None, {}, {"commit": 7}, ["b"]):
        assert ask(path, method="POST", body=body).status_code == 400


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/api/projects/x/status"), ("POST", "/api/projects/x/reconcile")]
)
def test_an_unknown_project_is_404(ask: Ask, method: str, path: str) -> None:
    answer = ask(path, method=method)
    assert answer.status_code == 404
    assert answer.json() == {"error": {"code": "notFound", "message": "there is no project 'x'"}}


def test_unknown_paths_and_methods_answer_in_the_same_form(ask: Ask) -> None:
    assert ask("/nothing").json()["error"]["code"] == "notFound"
    answer = ask("/api/projects", method="DELETE")
    assert answer.status_code == 405
    assert answer.json()["error"]["code"] == "methodNotAllowed"


def test_the_front_page_is_text_or_safe_html(ask: Ask) -> None:
    text = ask("/")
    assert text.headers["content-type"].startswith("text/plain")
    assert "small  http://127.0.0.1:8000" in text.text
    assert "a.yaml:1:2: warning: odd [x]" in text.text
    html = ask("/", headers={"accept": "text/html"})
    assert html.headers["content-type"].startswith("text/html")
    assert '<span class="pill live">live</span>' in html.text
    assert "a.yaml:1:2: warning: odd [x]" in html.text
    assert "default-src 'none'" in html.headers["content-security-policy"]


def test_what_is_wrong_in_the_servers_file_is_told(ask: Ask) -> None:
    source = OneProject()
    assert ask("/api/server", source=source).json()["diagnostics"] == []
    assert "/srv/server.yaml" not in ask("/", source=source).text
    source.is_wrong = True
    assert ask("/api/server", source=source).json()["diagnostics"][0]["message"] == "odd"
    for headers in ({}, {"accept": "text/html"}):
        page = ask("/", headers=headers, source=source).text
        assert page.count("a.yaml:1:2: warning: odd [x]") == 2
        assert "/srv/server.yaml" in page


def test_openapi_has_the_api_and_no_pages(ask: Ask) -> None:
    """Compare no list: tests/house/surface.txt has all routes."""
    paths = ask("/schema/openapi.json").json()["paths"]
    assert {"/api/projects", "/api/projects/{name}/outline", "/metrics"} <= set(paths)
    assert [path for path in paths if not path.startswith(("/api/", "/metrics"))] == []


@pytest.mark.parametrize("host", ["localhost", "localhost:8001", "127.0.0.1:1", "[::1]:8001"])
def test_loopback_names_are_served(ask: Ask, host: str) -> None:
    assert ask("/api/projects", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "", "["],
)
def test_other_names_are_refused(ask: Ask, host: str) -> None:
    answer = ask("/api/projects", headers={"host": host})
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "forbidden"


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "https://["},
        {"origin": "http://127.0.0.1:8000"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_change_from_another_site_is_refused(ask: Ask, headers: dict[str, str]) -> None:
    source = OneProject()
    path = "/api/projects/small/reconcile"
    answer = ask(path, method="POST", headers=headers, source=source)
    assert (answer.status_code, source.asked) == (403, [])


def test_a_change_from_its_own_page_is_taken(ask: Ask) -> None:
    headers = {"origin": URL, "sec-fetch-site": "same-origin"}
    answer = ask("/api/projects/small/reconcile", method="POST", headers=headers)
    assert answer.status_code == 202


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/api/projects/small/requests?limit=0", None, "'limit' in the query: expected 'int' >= 1"),
        ("/api/hooks/test", {"receiver": 3}, "'receiver' in the body: expected 'str', got 'int'"),
        ("/api/hooks/test", [], "the body: expected 'object', got 'array'"),
        ("/api/nothing", None, "page not found"),
        ("/api/hooks/test", None, "method not allowed"),
    ],
)
def test_what_the_framework_refuses_is_said_in_our_words(
    ask: Ask, path: str, body: Any, said: str
) -> None:
    answer = ask(path, method="GET" if body is None else "POST", body=body)
    assert answer.json()["error"]["message"] == said


def test_a_browser_at_an_unknown_address_gets_a_page(ask: Ask) -> None:
    wanted = {"accept": "text/html"}
    for path in ("/nothing", "/projects/small/nothing"):
        answer = ask(path, headers=wanted)
        assert answer.status_code == 404
        assert "Page not found." in answer.text
    assert ask("/api/nothing", headers=wanted).json()["error"]["code"] == "notFound"


def test_a_request_with_too_many_headers_is_refused(ask: Ask) -> None:
    answer = ask("/api/projects", headers={f"x-{n}": "1" for n in range(120)})
    assert answer.status_code == 431
    assert answer.json()["error"]["message"] == "more than 100 headers"
    assert ask("/api/projects", headers={f"x-{n}": "1" for n in range(80)}).status_code == 200


def test_a_request_with_too_large_headers_is_refused(ask: Ask) -> None:
    assert ask("/api/projects", headers={"x-a": "a" * 40_000}).status_code == 431
    assert ask("/api/projects?" + "a" * 40_000).status_code == 431
    assert ask(f"/api/projects/{'a' * 10_000}/status").status_code == 400


def test_a_key_that_is_not_known_is_refused_by_its_name(ask: Ask) -> None:
    body = {"commit": "b" * 7, "comit": "c" * 7}
    answer = ask("/api/projects/small/accept", method="POST", body=body)
    assert answer.status_code == 400
    assert "comit" in answer.json()["error"]["message"]
