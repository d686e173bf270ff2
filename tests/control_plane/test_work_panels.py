"""Pages of jobs, webhooks, events, versions and the frontend: content, roles and forms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from msgspec.structs import replace

from bbops.base.json_work import Job
from bbops_server.accounts.rules import Role
from tests.support.control import Tried
from tests.support.data_process import DataProcess
from tests.support.islands import without_islands

LINK = re.compile(r'<span>([\w ]+)</span>(?:<span class="count">\d+</span>)?</a></li>')
"""A link of the side bar, with its title."""
HOSTILE = "<img src=x onerror=alert(1)>{{7*7}}"
PAGES = ("jobs", "webhooks", "events", "versions", "frontend", "realtime", "agents")


@pytest.fixture
def roles(tmp_path: Path) -> Iterator[Tried]:
    """A control plane with a person of each role in the project alone."""
    tried = Tried(tmp_path)
    tried.add("ada@example.com", Role.OWNER)
    for role in Role:
        tried.add(f"{role}@example.com", None, project=role)
    yield tried
    tried.close()


def buttons(page: str) -> set[str]:
    """Return the actions of the buttons in the main part of a page."""
    main = page.split('<main id="main"')[1]
    found = re.findall(r'name="action" value="(\w+)"', main)
    return {*found, *re.findall(r'action="/projects/small/webhooks/(\w+)', main)}


@pytest.mark.parametrize("panel", PAGES)
@pytest.mark.parametrize("target", ["", "?in=slug"])
def test_pages_show_live_and_drafts_without_scripts(
    roles: Tried, panel: str, target: str
) -> None:  # fmt: skip
    page = roles.as_person("developer@example.com").get(f"/projects/small/{panel}{target}")
    assert page.status_code == 200, page.text
    assert page.text.count("<h1>") == 1
    assert "<script" not in without_islands(page.text)
    assert "style=" not in page.text


def test_webhooks_name_the_problem_of_a_receiver(roles: Tried) -> None:
    page = roles.as_person("developer@example.com").get("/projects/small/webhooks").text
    assert "misses events" in page
    assert "&#39;events&#39; needs a list of names" in page


def test_side_bar_has_the_pages_that_the_role_may_read(roles: Tried) -> None:
    def titles(role: Role) -> set[str]:
        page = roles.as_person(f"{role}@example.com").get("/projects/small").text
        return set(LINK.findall(page.split("</aside>")[0]))

    viewer, developer, maintainer = map(titles, (Role.VIEWER, Role.DEVELOPER, Role.MAINTAINER))
    assert {"Overview", "Drafts", "Versions", "API reference"} <= viewer
    assert developer - viewer >= {"Tasks and jobs", "Webhooks", "Events", "Agents"}
    assert maintainer - developer == {"API keys"}


def test_each_role_sees_the_buttons_that_it_may_use(roles: Tried) -> None:
    def of(role: Role, path: str) -> set[str]:
        return buttons(roles.as_person(f"{role}@example.com").get(f"/projects/small/{path}").text)

    assert of(Role.DEVELOPER, "jobs") == set()
    assert of(Role.DEVELOPER, "jobs?in=slug") == {"run", "retry", "cancel"}
    assert of(Role.MAINTAINER, "jobs") >= {"run", "retry", "cancel", "hold"}
    assert of(Role.DEVELOPER, "events") == set()
    assert of(Role.MAINTAINER, "events") == {"count", "replay"}
    delivery = "webhooks/delivery?name=triggers/paid@evt_1"
    assert of(Role.DEVELOPER, delivery) == set()
    assert of(Role.MAINTAINER, delivery) == {"repeat"}
    for path in ("agents", "agents/run?name=agents/helpdesk/chat@1"):
        assert of(Role.DEVELOPER, path) == set()
        assert of(Role.MAINTAINER, path) == {"approve", "reject"}
    assert of(Role.DEVELOPER, "agents?in=slug") == {"approve", "reject"}


def test_forms_of_live_jobs_are_refused_for_developers_by_address(roles: Tried) -> None:
    browser = roles.as_person("developer@example.com")
    browser.get("/account")
    forms = {
        "jobs": {"action": "cancel", "job": "tasks/beat@1"},
        "webhooks/repeat": {"delivery": "triggers/paid@evt_1"},
        "webhooks/enable": {"webhook": "shops", "receiver": "7"},
        "agents/decide": {"action": "approve", "call": "a1"},
        "events/replay": {"action": "replay", "trigger": "paid", "period": "1h"},
    }
    for path, form in forms.items():
        assert browser.post(f"/projects/small/{path}", form).status_code == 403, path
        done = browser.post(f"/projects/small/{path}?in=slug", form)
        assert done.status_code == 303, (path, done.text)
        assert "in=slug" in done.headers["location"]
    notes = [entry.action for entry in roles.book.audit.list()]
    assert {"cancel jobs", "approve call"} <= {*notes}


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"action": "explode"}, "there is no action"),
        ({"action": "cancel"}, "a job or a task is required"),
    ],
)
def test_incomplete_form_is_rejected_with_the_reason(
    roles: Tried, form: dict[str, str], message: str
) -> None:
    browser = roles.as_person("owner@example.com")
    browser.get("/account")
    page = browser.post("/projects/small/jobs", form)
    assert page.status_code == 400
    assert message in page.text.lower()


def test_texts_of_jobs_are_escaped(roles: Tried, monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = Job(f"functions/{HOSTILE}@1", HOSTILE, "dead", 5, 2.0, 1.0, HOSTILE, HOSTILE)
    monkeypatch.setattr(DataProcess, "dead", hostile)
    browser = roles.as_person("maintainer@example.com")
    for path in ("jobs", f"jobs/job?name={quote(hostile.name)}"):
        page = browser.get(f"/projects/small/{path}").text
        assert "<img src=x" not in page
        assert "&lt;img src=x onerror=alert(1)&gt;{{7*7}}" in page


def test_texts_of_agents_are_escaped(roles: Tried, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        DataProcess, "agent_run",
        replace(DataProcess.agent_run, name=f"agents/{HOSTILE}/chat@1", error=HOSTILE),
    )  # fmt: skip
    monkeypatch.setattr(
        DataProcess, "agent_call",
        replace(DataProcess.agent_call, tool=HOSTILE, arguments={"text": HOSTILE}),
    )  # fmt: skip
    steps = tuple(
        replace(step, text=HOSTILE, tool=HOSTILE, arguments={HOSTILE: HOSTILE})
        for step in DataProcess.agent_steps
    )
    monkeypatch.setattr(DataProcess, "agent_steps", steps)
    browser = roles.as_person("maintainer@example.com")
    name = quote(f"agents/{HOSTILE}/chat@1")
    for path in ("agents", f"agents/run?name={name}"):
        page = browser.get(f"/projects/small/{path}").text
        assert "<img src=x" not in page
        assert page.count("&lt;img src=x onerror=alert(1)&gt;{{7*7}}") > 3
    assert "/projects/small/jobs/job?name=agents%2F%3Cimg" in page


def test_run_page_shows_the_story_in_order(roles: Tried) -> None:
    page = roles.as_person("developer@example.com").get(
        "/projects/small/agents/run?name=agents/helpdesk/chat@1"
    )
    assert page.status_code == 200, page.text
    main = page.text.split('<main id="main"')[1]
    places = [main.index(text) for text in ("Add a note.", "I add it.", "{&#34;id&#34;:1}")]
    assert places == sorted(places)
    assert "300 + 30" in main
    assert "0.36" in main
    missing = roles.as_person("developer@example.com").get(
        "/projects/small/agents/run?name=nothing"
    )
    assert missing.status_code in {404, 409}


def test_unknown_draft_and_unknown_job_are_not_found(roles: Tried) -> None:
    browser = roles.as_person("developer@example.com")
    assert browser.get("/projects/small/jobs?in=nothing").status_code == 404
    assert browser.get("/projects/small/jobs/job?name=nothing").status_code in {404, 409}
    assert browser.get("/projects/other/jobs").status_code == 404
