"""Search: pages and resources by words, for the page and for the palette."""

from __future__ import annotations

import re
from typing import Any

import pytest

from bbops_server.accounts.rules import Role
from bbops_server.control_plane.web.search import SearchEntry, rank_entries
from tests.support.control import Browser, Tried, tried

__all__ = ["tried"]


def find(browser: Browser, words: str = "", **more: Any) -> dict[str, str]:
    """Return the kinds of the entries by their texts."""
    answer = browser.get("/api/projects/small/search", params={"q": words, **more})
    assert answer.status_code == 200, answer.text
    return {entry["text"]: entry["kind"] for entry in answer.json()["entries"]}


@pytest.fixture
def ada(tried: Tried) -> Browser:
    return tried.as_person("ada@example.com")


def test_pages_and_resources_are_found(ada: Browser) -> None:
    found = find(ada)
    assert found["Requests"] == "page"
    assert found["GET /hello"] == "endpoint"
    assert found["topic"] == "draft"
    assert found["small"] == "project"
    assert found["Audit"] == "server page"
    assert {"endpoint", "function", "table", "column", "value"} <= {*found.values()}


def ranked(query: str, *texts: str) -> list[str]:
    entries = [SearchEntry(text, "any", "/", "by Ada") for text in texts]
    return [entry.text for entry in rank_entries(entries, query, 9).entries]


def test_each_word_must_be_contained() -> None:
    entries = [SearchEntry(text, "any", "/", "by Ada") for text in ("orders", "order-mail", "cart")]
    found = rank_entries(entries, " ORDER ada ", 1)
    assert ([entry.text for entry in found.entries], found.total) == (["order-mail"], 2)
    assert rank_entries(entries, "order none", 9).entries == []


def test_the_quality_of_the_match_comes_first() -> None:
    texts = ("reorders", "orders.total", "GET /v1/orders/:id", "orders", "ordersheet")
    expected = ["orders", "orders.total", "GET /v1/orders/:id", "ordersheet", "reorders"]
    assert ranked("orders", *texts) == expected
    assert ranked("/orders", *texts) == ["GET /v1/orders/:id"]
    assert ranked("get orders", "target orders", "GET /orders") == ["GET /orders", "target orders"]


def test_equal_matches_follow_the_order_of_their_kinds() -> None:
    entries = [
        SearchEntry("GET /v1/orders", "endpoint", "/"),
        SearchEntry("POST /orders", "endpoint", "/"),
        SearchEntry("orders/list", "function", "/"),
        SearchEntry("by orders", "step", "/"),
    ]
    found = rank_entries(entries[::-1], "orders", 9).entries
    assert [entry.kind for entry in found] == ["step", "function", "endpoint", "endpoint"]
    assert rank_entries(entries, "orders", 9).entries[0].text == "POST /orders"


def test_actions_steps_docs_and_members_are_found(tried: Tried, ada: Browser) -> None:
    found = find(ada)
    assert (found["New draft"], found["Roll back"]) == ("action", "action")
    assert found["Invite a member"] == "server action"
    assert "member" in found.values()
    entries = ada.get("/api/projects/small/search?q=step").json()["entries"]
    (place,) = {entry["url"] for entry in entries if entry["url"].endswith("hello.yaml#L2")}
    assert place == "/projects/small/files/functions/hello.yaml#L2"
    assert {"docs"} & {*find(ada, "guide").values()}


def test_users_find_only_the_actions_that_they_may_do(tried: Tried) -> None:
    tried.add("eve@example.com", project=Role.VIEWER)
    found = find(tried.as_person("eve@example.com"))
    assert "Compare versions" in found
    assert not {"New draft", "Roll back", "Merge a proposal", "Invite a member"} & {*found}
    assert "member" not in found.values()


def test_the_side_bar_has_its_numbers_from_the_first_page_on(ada: Browser) -> None:
    page = ada.get("/projects/small/requests").text
    assert re.search(r'<span>Endpoints</span><span class="count">\d+</span>', page)


def test_entries_stay_in_the_draft_of_the_page(ada: Browser) -> None:
    answer = ada.get("/api/projects/small/search", params={"q": "GET /hello", "in": "slug"})
    (entry,) = answer.json()["entries"]
    assert entry["url"] == "/projects/small/endpoints/hello?in=slug"
    assert ada.get(entry["url"]).status_code == 200


def test_page_of_the_search_is_not_the_overview(ada: Browser) -> None:
    def current(path: str) -> list[str]:
        page = ada.get(f"/projects/small{path}").text
        return re.findall(r'<a href="([^"]*)" aria-current="(?:page|true)"', page.split("<main")[0])

    assert current("") == ["/projects/small"]
    assert current("/search?q=hello") == []


def test_each_entry_leads_to_a_page(ada: Browser) -> None:
    for entry in ada.get("/api/projects/small/search").json()["entries"]:
        if entry["url"].endswith("/proposals"):  # of a repository, which this project has not
            continue
        assert ada.get(entry["url"]).status_code == 200, entry


def test_viewers_find_only_the_pages_that_they_may_read(tried: Tried) -> None:
    tried.add("eve@example.com", project=Role.VIEWER)
    found = find(tried.as_person("eve@example.com"))
    assert "Endpoints" in found
    assert not {"Requests", "API keys", "Audit", "People"} & {*found}


def test_search_works_as_a_page(ada: Browser) -> None:
    page = ada.get("/projects/small/search?q=hello").text
    assert re.search(r'href="/projects/small/endpoints/hello">GET /hello<', page)
    assert "No page or resource contains" in ada.get("/projects/small/search?q=zebra").text
    assert 'href="/audit">Audit<' in ada.get("/search?q=audit").text


@pytest.mark.parametrize("path", ["/projects/other/search", "/api/projects/other/search"])
def test_search_of_a_missing_project_is_not_found(ada: Browser, path: str) -> None:
    assert ada.get(path).status_code == 404


def test_number_of_entries_is_limited(ada: Browser) -> None:
    answer = ada.get("/api/projects/small/search?limit=2").json()
    assert len(answer["entries"]) == 2
    assert answer["total"] > 10
    assert ada.get("/api/projects/small/search?limit=2001").status_code == 400
