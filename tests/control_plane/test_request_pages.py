"""The pages of requests: filters in the URL, one request, and hostile texts."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest

from bbops_server.accounts.rules import Role
from bbops_server.control_plane.panels.requests import SHOWN
from tests.support.control import Browser, Tried, tried
from tests.support.islands import without_islands
from tests.support.recorded_requests import ago, answered, record, refused

__all__ = ["tried"]

PAGE = "/projects/small/requests"
HOSTILE = "<script>alert(1)</script>\" onload='x' {{7*7}} \u202e"
EXCHANGE = {
    "query": [["q", "a b"], ["token", "***"]],
    "headers": {
        "host": "x", "authorization": "***", "accept": "it's; $(id)", "content-length": "9",
    },
    "input": '{"name":"Zoë","password":"***"}', "output": '{"id":7}', "type": "application/json",
    "digest": "0",
}  # fmt: skip


@pytest.fixture
def ada(tried: Tried) -> Browser:
    return tried.as_person("ada@example.com")


def rows(page: str) -> list[str]:
    """Return the ids of the listed requests."""
    return re.findall(rf'href="{PAGE}/(\d+)[?"]', page)


def test_the_newest_requests_are_first(tried: Tried, ada: Browser) -> None:
    record(tried, *(answered(f"/notes/{at}") for at in range(1, 4)))
    page = ada.get(PAGE)
    assert page.status_code == 200
    assert rows(page.text) == ["3", "2", "1"]
    assert page.text.count("<h1") == 1
    assert 'aria-current="page"' in page.text
    assert 'href="/projects/small/endpoints/notes"' in page.text


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("status=5xx", ["2"]), ("status=404", ["3"]), ("method=post", ["2"]),
        ("status=failed", ["2"]),
        ("endpoint=orders/create", ["4"]), ("text=BOOM", ["2"]), ("slower=100", ["4"]),
        ("since=10m", ["4", "3", "2"]), ("since=2020-01-01", ["4", "3", "2", "1"]),
        ("before=3", ["2", "1"]), ("status=5xx&method=GET", []), ("status=&text=+", "4321"),
    ],
)  # fmt: skip
def test_filters_are_in_the_url(
    tried: Tried, ada: Browser, query: str, expected: list[str]
) -> None:
    record(
        tried, ago(60), ago(3, status=500, method="POST", failure="boom"), ago(2, status=404),
        ago(1, endpoint="orders/create", milliseconds=300.0),
    )  # fmt: skip
    page = ada.get(f"{PAGE}?{query}").text
    assert rows(page) == [*expected]
    assert expected or "No request matches these filters" in page


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("status=9", "Status &#39;9&#39; is not a number such as 404"),
        ("method=FETCH", "is not one of GET, POST"),
        ("slower=fast", "is not a number of milliseconds"),
        ("slower=nan", "is not a number of milliseconds"),
        ("since=soon", "is neither a duration such as 10m"),
        ("before=x", "is not the id of a request"),
        ("before=" + "9" * 30, "is not the id of a request"),
        ("status=<script>", "Status &#39;&lt;script&gt;&#39;"),
    ],
)
def test_invalid_filters_are_named_and_kept(ada: Browser, query: str, expected: str) -> None:
    page = ada.get(f"{PAGE}?{query}")
    assert page.status_code == 400
    assert expected in page.text
    assert "<script>" not in page.text


def test_older_requests_are_a_link_away(tried: Tried, ada: Browser) -> None:
    record(tried, *(answered(status=404) for _ in range(SHOWN + 5)))
    first = ada.get(f"{PAGE}?status=4xx").text
    assert len(rows(first)) == SHOWN
    (older,) = re.findall(r'href="([^"]*before=[^"]*)"', first)
    assert older == f"{PAGE}?status=4xx&amp;before=6"
    second = ada.get(older.replace("&amp;", "&")).text
    assert rows(second) == ["5", "4", "3", "2", "1"]
    assert "before=" not in second.partition("<table")[2]


def test_an_empty_history_explains_itself(ada: Browser) -> None:
    page = ada.get(PAGE).text
    assert "No requests yet" in page
    assert "bbops requests --follow" in page


def test_a_draft_has_its_own_requests(tried: Tried, ada: Browser) -> None:
    record(tried, answered("/live"))
    record(tried, answered("/of-the-draft"), draft="slug")
    page = ada.get(f"{PAGE}?in=slug").text
    assert "/of-the-draft" in page
    assert "/live<" not in page
    assert f'href="{PAGE}/1?in=slug"' in page
    assert "/projects/small/endpoints/notes?in=slug" in page
    assert "/of-the-draft" in ada.get(f"{PAGE}/1?in=slug").text
    assert ada.get(f"{PAGE}?in=nowhere").status_code == 404


def test_a_failure_leads_to_its_line(tried: Tried, ada: Browser) -> None:
    steps = ["endpoints/notes/add.yaml:9", "functions/notes/add.yaml:4"]
    failed = answered(status=500, failure="no such row", step=steps[-1], steps=steps)
    record(tried, failed, failed, draft="slug")
    record(tried, failed, answered(status=500, failure="odd", step="addons/x.yaml:3"))
    url = "/projects/small/files/functions/notes/add.yaml#L4"
    line = f'<a class="mono" href="{url}">functions/notes/add.yaml:4'
    assert line in ada.get(PAGE).text
    page = ada.get(f"{PAGE}/1").text
    assert line in page
    assert 'href="/projects/small/files/endpoints/notes/add.yaml#L9"' in page
    assert "/files/functions/notes/add.yaml?in=slug#L4" in ada.get(f"{PAGE}/1?in=slug").text
    other = ada.get(f"{PAGE}/2").text
    assert 'href="/projects/small/files/addons/x.yaml#L3">addons/x.yaml:3' in other


def test_recorded_input_and_output_are_shown_with_a_command(tried: Tried, ada: Browser) -> None:
    record(tried, answered("/notes/[a] b", method="POST", exchange=EXCHANGE))
    page = ada.get(f"{PAGE}/1").text
    assert "&#34;id&#34;: 7" in page
    assert "Zoë" in page
    command = page.partition('curl command">')[2].partition("</pre>")[0]
    command = command.replace("&#39;", "'").replace("&#34;", '"').replace("&amp;", "&")
    assert shlex.split(command.replace("\\\n", "")) == [
        "curl", "-X", "POST", "http://127.0.0.1:8000/notes/%5Ba%5D%20b?q=a+b&token=***",
        "-H", "authorization: ***", "-H", "accept: it's; $(id)",
        "--data-raw", '{"name":"Zoë","password":"***"}',
    ]  # fmt: skip


def test_a_request_without_a_record_says_how_to_get_one(tried: Tried, ada: Browser) -> None:
    record(tried, answered(user={"sub": "u1"}))
    page = ada.get(f"{PAGE}/1").text
    assert "history: full" in page
    assert "u1" in page
    assert "Previous by this endpoint" not in page


def test_a_refused_request_shows_its_reason(tried: Tried, ada: Browser) -> None:
    place = "functions/notes/add.yaml:4"
    record(tried, refused(), refused(refusal={"place": place, "message": "too <late>"}))
    listed = ada.get(PAGE).text
    assert "invalidInput: the request has invalid values (name: must be text)" in listed
    line = f'href="/projects/small/files/functions/notes/add.yaml#L4">{place}'
    first, second = (ada.get(f"{PAGE}/{number}").text for number in (1, 2))
    assert 'Refused</strong> with <span class="mono">invalidInput</span>' in first
    assert '<dt class="mono" dir="auto">name</dt><dd dir="auto">must be text</dd>' in first
    assert "too &lt;late&gt;" in second
    assert line in listed
    assert line in second
    found = ada.get("/api/projects/small/requests/1").json()["request"]["refusal"]
    assert found["fields"] == {"name": ["must be text"]}
    assert rows(ada.get(f"{PAGE}?text=must+be+TEXT").text) == ["2", "1"]
    assert rows(ada.get(f"{PAGE}?status=failed").text) == []


def test_a_response_without_a_reason_says_so(tried: Tried, ada: Browser) -> None:
    record(tried, answered(status=404), answered(status=404, exchange=EXCHANGE))
    first, second = (ada.get(f"{PAGE}/{number}").text for number in (1, 2))
    assert "No reason is recorded: the function returned 404 as its result." in first
    assert "The output below has its body." in second


@pytest.mark.parametrize(
    ("change", "gap"),
    [
        ({"bytes_in": 1_234}, "command: the body of 1,234 bytes, query and headers."),
        ({}, "Not recorded, so not in the command: query and headers."),
        ({"exchange": EXCHANGE}, "&#39;***&#39; stands for a secret, which is not recorded."),
        ({"exchange": EXCHANGE | {"input": "…"}}, "it is not a text, or is too long."),
        ({"exchange": EXCHANGE | {"input": "x" * 8192 + "…"}}, "Only the first 8,192 characters"),
        ({"exchange": EXCHANGE | {"input": ""}}, "answered before its body of 9 bytes was read."),
    ],
)
def test_the_command_names_what_it_lacks(
    tried: Tried, ada: Browser, change: dict[str, Any], gap: str
) -> None:
    record(tried, refused(**change))
    page = ada.get(f"{PAGE}/1").text
    assert gap in page
    assert ("--data-raw xxxxx" in page) is ("xxxxx" in str(change))
    assert "--data-raw …" not in page


def test_a_trace_has_steps_with_their_lines_and_times(tried: Tried, ada: Browser) -> None:
    spans = [
        ["step", "functions/a.yaml:3", 0, 0.0, 4.0, "", None],
        ["sql", "", 1, 1.0, 2.5, f"select {HOSTILE}", 7],
        ["http", "", 1, 3.5, 0.5, f"GET {HOSTILE}", None],
    ]  # fmt: skip
    record(tried, (*answered(), "ada@example.com", spans))
    page = ada.get(f"{PAGE}/1").text
    assert 'href="/projects/small/files/functions/a.yaml#L3"' in page
    assert '<rect class="db" x="25.0" y="0" width="62.5" height="8"/>' in page
    assert "1 step, 1 statement" in page
    assert "ada@example.com" in page
    assert "<script" not in without_islands(page)


def test_neighbours_are_links(tried: Tried, ada: Browser) -> None:
    record(tried, answered(), answered(endpoint="other"), answered(), answered())
    page = ada.get(f"{PAGE}/3").text
    assert f'href="{PAGE}/1">Previous by this endpoint' in page
    assert f'href="{PAGE}/4">Next by this endpoint' in page


@pytest.mark.parametrize("draft", ["", "slug"])
def test_texts_of_requests_are_escaped(tried: Tried, ada: Browser, draft: str) -> None:
    values: dict[str, Any] = {
        "method": HOSTILE, "route": HOSTILE, "status": 500, "user": HOSTILE, "endpoint": HOSTILE,
        "failure": HOSTILE, "step": HOSTILE, "steps": [HOSTILE, HOSTILE], "release": HOSTILE,
        "exchange": {
            "query": [[HOSTILE, HOSTILE]], "headers": {HOSTILE: HOSTILE}, "input": HOSTILE,
            "output": HOSTILE, "type": HOSTILE, "digest": HOSTILE,
        },
    }  # fmt: skip
    record(tried, answered(HOSTILE, **values), draft=draft)
    query = f"?in={draft}" if draft else ""
    for path in (PAGE, f"{PAGE}/1"):
        page = ada.get(path + query)
        assert page.status_code == 200
        assert "<script" not in without_islands(page.text)
        assert "{{7*7}}" in page.text
        assert "onload='x'" not in page.text
        assert "style=" not in page.text


def test_damaged_values_do_not_break_the_pages(tried: Tried, ada: Browser) -> None:
    record(tried, answered("/x" * 5_000, user=["a", 1], exchange={"input": "[" * 5_000}))
    assert ada.get(PAGE).status_code == ada.get(f"{PAGE}/1").status_code == 200


@pytest.mark.parametrize("number", ["0", "7", "9" * 30])
def test_an_unknown_request_is_not_found(tried: Tried, ada: Browser, number: str) -> None:
    record(tried, answered())
    page = ada.get(f"{PAGE}/{number}")
    assert page.status_code == 404
    assert "the history keeps 14 days" in page.text


@pytest.mark.parametrize("role", [Role.VIEWER, Role.DEVELOPER, Role.MAINTAINER, Role.OWNER])
def test_viewers_neither_see_nor_open_requests(tried: Tried, role: Role) -> None:
    record(tried, answered())
    tried.add("v@example.com", project=role)
    browser = tried.as_person("v@example.com")
    may = role is not Role.VIEWER
    assert (f'href="{PAGE}"' in browser.get("/projects/small").text) is may
    for path in (PAGE, f"{PAGE}/1"):
        assert browser.get(path).status_code == (200 if may else 403)


def test_a_stranger_does_not_learn_that_the_project_exists(tried: Tried) -> None:
    tried.add("s@example.com")
    assert tried.as_person("s@example.com").get(PAGE).status_code == 404
