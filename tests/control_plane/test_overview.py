"""The overview of a project: what needs attention, and charts with their numbers in words."""

from __future__ import annotations

import re
from datetime import timedelta
from html.parser import HTMLParser

import pytest

from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.interfaces.answers import ProjectCondition, Publication
from bbops_server.accounts.rules import Role
from bbops_server.data_plane.live import traffic
from tests.support.control import SINCE, Browser, Tried, tried
from tests.support.recorded_requests import ago, record

__all__ = ["tried"]

PAGE = "/projects/small"
HOSTILE = "<img src=x onerror=alert(1)>\" style='x' {{7*7}}"


@pytest.fixture
def ada(tried: Tried) -> Browser:
    return tried.as_person("ada@example.com")


class Structure(HTMLParser):
    """The tags of a page, to check that they are closed in order."""

    VOID = frozenset({"meta", "link", "input", "br", "img", "hr", "option", "use", "path"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.VOID:
            return
        if self.open and self.open[-1] == tag:
            self.open.pop()
        else:
            self.wrong.append(tag)


def stall(reason: str, message: str) -> dict[str, object]:
    found = [
        ProjectCondition("Ready", status=False, reason=reason, message="", since=SINCE),
        ProjectCondition("Stalled", status=True, reason=reason, message=message, since=SINCE),
    ]
    return {"conditions": found, "diagnostics": []}


def test_charts_have_their_numbers_in_words_and_tables(tried: Tried, ada: Browser) -> None:
    record(tried, *[ago(5, milliseconds=30.0)] * 30, *[ago(7, status=500)] * 2, ago(50))
    page = ada.get(PAGE).text
    assert (
        page.count("<figure") == page.count("<svg viewBox") == page.count("Numbers</summary>") == 3
    )
    assert "33 requests, at most 30 in a minute (at " in page
    assert "2 of 33 requests failed (6.1 %)" in page
    assert re.search(r"95 % within 29\.\d ms, slowest 30\.0 ms", page)
    assert page.count("<h1") == 1
    assert not Structure(page).wrong
    assert "style=" not in page
    table = page.partition('aria-label="Requests, numbers"')[2].partition("</table>")[0]
    assert re.findall(r'class="num">(\d+)</td>', table) == ["1", "2", "30"]


def test_a_lone_duration_is_as_wide_as_its_step(tried: Tried, ada: Browser) -> None:
    record(tried, ago(5, milliseconds=30.0))
    path = re.search(r'class="line series-1" d="M([\d.]+) [^H]+H([\d.]+)"', ada.get(PAGE).text)
    assert path is not None
    assert float(path[2]) - float(path[1]) > 9


@pytest.mark.parametrize(
    ("query", "count", "text"),
    [
        ("", 1, "hour"), ("?range=hour", 1, "hour"), ("?range=day", 2, "day"),
        ("?range=14d", 3, "14 days"),
    ],
)  # fmt: skip
def test_the_range_is_in_the_url(
    tried: Tried, ada: Browser, query: str, count: int, text: str
) -> None:
    record(tried, ago(5), ago(20 * 60), ago(9 * 24 * 60))
    page = ada.get(PAGE + query).text
    assert f"Requests in the last {text}" in page
    assert f'<p class="soft">{count} request' in page
    assert re.search(rf'aria-current="true">{text.capitalize()}<', page)


def test_an_unknown_range_is_named(ada: Browser) -> None:
    page = ada.get(f"{PAGE}?range=week")
    assert page.status_code == 400
    assert "Range &#39;week&#39; is not one of hour, day, 14d" in page.text


def test_releases_are_marked_on_the_charts(tried: Tried, ada: Browser) -> None:
    at = traffic.datetime.now(traffic.UTC)
    tried.source.publications = [
        Publication("main@sha1:a", at - timedelta(minutes=30), "live", 3.0, subject="<b>Ship</b>"),
        Publication("main@sha1:b", at - timedelta(minutes=20), "Invalid", subject="Broken"),
        Publication("main@sha1:c", at - timedelta(days=3), "live", 3.0, subject="Old"),
    ]  # fmt: skip
    record(tried, ago(5))
    page = ada.get(PAGE).text
    assert page.count('class="mark" d=') == 3
    assert page.count("&lt;b&gt;Ship&lt;/b&gt; went live</title>") == 3
    assert "Broken went live" not in page
    assert "Old went live" not in page
    assert "Old went live" in ada.get(f"{PAGE}?range=14d").text


def test_the_slowest_and_the_failing_endpoint_are_links(tried: Tried, ada: Browser) -> None:
    failed = ago(
        3, status=500, endpoint="orders/create", failure="no such column",
        step="functions/orders/create.yaml:7",
    )  # fmt: skip
    record(tried, ago(9, milliseconds=900.0, endpoint="slow/one"), failed, ago(1))
    page = ada.get(PAGE).text
    slowest = page.partition('id="slowest"')[2]
    assert slowest.index("/projects/small/endpoints/slow/one") < slowest.index("endpoints/notes")
    assert f'href="{PAGE}/requests?endpoint=orders/create&amp;status=failed&amp;since=1h"' in page
    todo = page.partition('id="todo"')[2].partition("</section>")[0]
    assert f'href="{PAGE}/requests/2"' in todo
    assert f'href="{PAGE}/files/functions/orders/create.yaml#L7"' in todo
    assert "no such column" in todo
    for link in set(re.findall(rf'href="({PAGE}/requests[^"]*)"', page)):
        assert ada.get(link.replace("&amp;", "&")).status_code == 200


def test_a_thrown_error_is_shown_with_its_line(tried: Tried, ada: Browser) -> None:
    thrown = {
        "code": "serverError", "message": "the bank is closed", "fields": {},
        "place": "functions/orders/pay.yaml:7",
    }  # fmt: skip
    record(tried, (*ago(2, status=500), "", None, thrown))
    todo = ada.get(PAGE).text.partition('id="todo"')[2].partition("</section>")[0]
    assert "the bank is closed" in todo
    assert f'href="{PAGE}/files/functions/orders/pay.yaml#L7"' in todo


def test_a_failed_step_is_a_failure_with_any_status(tried: Tried, ada: Browser) -> None:
    step = {"failure": "division by zero", "step": "functions/a.yaml:3"}
    record(tried, ago(2, status=400, **step), ago(1, status=404))
    page = ada.get(PAGE).text
    assert "1 of 2 requests failed (50 %)" in page
    assert "division by zero" in page.partition('id="todo"')[2].partition("</section>")[0]
    assert "A failure is a response 5xx, or a request in which a step failed" in page
    assert "status=failed&amp;since=1h" in page


def test_a_stalled_project_gives_the_line_and_the_fix(tried: Tried, ada: Browser) -> None:
    hint = "did you mean 'greet'?"
    wrong = JsonDiagnostic("error", "x", "endpoints/a.yaml", 4, 11, "no such function", hint)
    tried.source.status_changes = stall("ProjectInvalid", "endpoints/a.yaml:4:11: no such function")
    tried.source.status_changes["diagnostics"] = [wrong]
    page = ada.get(PAGE).text
    assert "endpoints/a.yaml:4:11" in page
    assert "Fix: did you mean &#39;greet&#39;?" in page
    assert "Nothing to do" not in page


def test_a_missing_value_is_named_with_its_command(tried: Tried, ada: Browser) -> None:
    text = "no value for MAIL_KEY; bbops env set MAIL_KEY --state /srv"
    tried.source.status_changes = stall("EnvMissing", text)
    page = ada.get(PAGE).text
    assert "<strong>Stalled</strong> since" in page
    assert "bbops env set MAIL_KEY" in page


def test_a_stalled_draft_gives_its_reason(tried: Tried, ada: Browser) -> None:
    wrong = JsonDiagnostic("error", "syntax", "functions/greet.yaml", 3, 1, "odd indent")
    tried.source.draft_changes = {
        "state": "stalled", "message": "it has errors", "diagnostics": [wrong],
    }  # fmt: skip
    todo = ada.get(PAGE).text.partition('id="todo"')[2]
    assert "topic</a> is stalled" in todo
    assert "it has errors" in todo
    assert 'href="/projects/small/files/functions/greet.yaml?in=slug#L3"' in todo


@pytest.mark.parametrize("state", ["asleep", "waking", "awake", "stalled"])
def test_a_draft_never_looks_live(tried: Tried, ada: Browser, state: str) -> None:
    tried.source.draft_changes = {"state": state}
    page = ada.get(f"{PAGE}/drafts").text.partition("<main")[2]
    assert f'<span class="pill {state}">{state}</span>' in page
    assert "pill live" not in page


def test_dead_jobs_and_next_tasks_are_listed(ada: Browser) -> None:
    page = ada.get(PAGE).text
    assert 'href="/projects/small/jobs/job?name=tasks/beat%401"' in page
    assert ada.get("/projects/small/jobs/job?name=tasks/beat%401").status_code == 200
    assert "1970-01-01 00:01" in page.partition("Next tasks")[2]


def test_a_newcomer_finds_what_matters_from_the_start_page(tried: Tried, ada: Browser) -> None:
    record(
        tried, ago(3, milliseconds=700.0, endpoint="slow/one"),
        ago(2, status=500, failure="odd", step="functions/a.yaml:3"), ago(1),
    )  # fmt: skip
    tried.source.status_changes = stall("EnvMissing", "no value for MAIL_KEY")
    tried.source.draft_changes = {"state": "stalled", "message": "it has errors"}
    assert f'href="{PAGE}"' in ada.get("/").text
    page = ada.get(PAGE).text
    shown = (
        "slow/one</a>",
        f"{PAGE}/files/functions/a.yaml#L3",
        "it has errors",
        "MAIL_KEY",
        "Next tasks",
    )
    assert [text for text in shown if text not in page] == []


def test_a_viewer_sees_no_requests_and_no_jobs(tried: Tried) -> None:
    record(tried, ago(1, status=500, failure="secret reason"))
    tried.add("v@example.com", project=Role.VIEWER)
    page = tried.as_person("v@example.com").get(PAGE).text
    for text in ("<svg viewBox", "secret reason", "tasks/beat", "/requests"):
        assert text not in page
    assert "Nothing to do." in page


def test_an_empty_project_says_so(ada: Browser) -> None:
    page = ada.get(PAGE).text
    assert "No requests in the last hour." in page
    assert "<svg viewBox" not in page


def test_texts_of_a_project_are_escaped(tried: Tried, ada: Browser) -> None:
    wrong = JsonDiagnostic("error", HOSTILE, HOSTILE, 3, 1, HOSTILE, HOSTILE)
    tried.source.status_changes = stall("ProjectInvalid", HOSTILE) | {"diagnostics": [wrong]}
    tried.source.draft_changes = {
        "state": "stalled", "message": HOSTILE, "diagnostics": [wrong], "branch": HOSTILE,
    }  # fmt: skip
    at = traffic.datetime.now(traffic.UTC) - timedelta(minutes=3)
    tried.source.publications = [
        Publication(
            "main@sha1:a", at, "live", 3.0, author=HOSTILE, subject=HOSTILE, message=HOSTILE
        )
    ]
    hostile = {"path": HOSTILE, "method": HOSTILE, "endpoint": HOSTILE, "failure": HOSTILE}
    record(tried, ago(2, status=500, step=HOSTILE, **hostile))
    page = ada.get(PAGE).text
    assert "<img src=x" not in page
    assert "style='x'" not in page
    assert "{{7*7}}" in page
    assert not Structure(page).wrong
