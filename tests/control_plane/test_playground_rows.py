"""Rows of a draft that the Playground's form offers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from bbops_server.control_plane.playground.rows import RowSource, find_users
from tests.support.agents_at_server import House
from tests.support.outlines import outline
from tests.support.patience import wait_for
from tests.support.playground import PlaygroundBrowser, make_house
from tests.support.small_project import FILES

DRAFT = "topic"
ROWS = f"/api/projects/shop/drafts/{DRAFT}/playground/rows"
USER = {"key": "7", "label": "ada@example.com · admin"}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with make_house(tmp_path_factory.mktemp("rows")) as house:
        house.agent().change(DRAFT, {"op": "put", "ref": "doc/one", "body": {"text": "# One"}})
        drafts = house.control.status.drafts("shop")
        assert drafts is not None
        wait_for(lambda: drafts.find(DRAFT) is not None)
        yield house


@pytest.fixture(scope="module")
def developer(house: House) -> PlaygroundBrowser:
    return PlaygroundBrowser(house, "developer")


def choices(browser: PlaygroundBrowser, endpoint: str) -> Any:
    return browser.request("GET", f"{ROWS}?endpoint={endpoint}").json()


def test_foreign_key_offers_rows_of_its_table(developer: PlaygroundBrowser) -> None:
    assert choices(developer, "comment") == {"user": [USER], "body:user_id": [USER]}


def test_path_parameter_offers_rows_by_their_primary_key(developer: PlaygroundBrowser) -> None:
    # The middleware also reads users, whose primary key has the same name.
    found = choices(developer, "read-comment")["path:id"]
    assert found == [{"key": "4", "label": "Second"}, {"key": "3", "label": "<b>First</b>"}]


def test_endpoint_without_relations_offers_users_alone(developer: PlaygroundBrowser) -> None:
    assert choices(developer, "hello") == {"user": [USER]}


def test_new_rows_are_offered(developer: PlaygroundBrowser) -> None:
    body = {"user_id": 7, "title": "Third"}
    assert developer.send("comment", draft=DRAFT, body=body).json()["status"] == 201
    assert choices(developer, "read-comment")["path:id"][0]["label"] == "Third"


def test_page_lists_the_rows_beside_the_field(developer: PlaygroundBrowser) -> None:
    text = developer.get(f"/projects/shop/playground/read-comment?in={DRAFT}&rows=1").text
    assert 'list="f-path:id-rows"' in text
    assert '<option value="3">3 · &lt;b&gt;First&lt;/b&gt;</option>' in text


def test_example_of_a_test_does_not_hide_the_offered_rows(developer: PlaygroundBrowser) -> None:
    page, field = "/projects/shop/playground/read-comment", 'name="path:id" type="text" value="'
    assert field + '1"' in developer.get(page).text
    assert field + '"' in developer.get(f"{page}?in={DRAFT}&rows=1").text


def test_live_offers_no_rows(developer: PlaygroundBrowser) -> None:
    assert "<datalist" not in developer.get("/projects/shop/playground/read-comment").text


def test_viewer_sees_no_rows(house: House) -> None:
    viewer = PlaygroundBrowser(house, "viewer")
    assert viewer.request("GET", f"{ROWS}?endpoint=comment").status_code == 403
    page = viewer.get(f"/projects/shop/playground/comment?in={DRAFT}")
    assert page.status_code == 200
    assert "<datalist" not in page.text


def test_private_columns_are_no_labels(developer: PlaygroundBrowser) -> None:
    assert all("note" not in row for rows in choices(developer, "comment").values() for row in rows)


def test_users_are_known_by_key_and_columns(developer: PlaygroundBrowser) -> None:
    text = developer.get(f"/projects/shop/playground/hello?in={DRAFT}&rows=1").text
    assert '<option value="7">7 · ada@example.com · admin</option>' in text


def test_page_of_a_sleeping_draft_wakes_it_only_when_asked(
    house: House, developer: PlaygroundBrowser
) -> None:
    house.agent().change("resting", {"op": "put", "ref": "doc/two", "body": {"text": "# Two"}})
    drafts = house.control.status.drafts("shop")
    assert drafts is not None
    wait_for(lambda: drafts.find("resting") is not None)

    def state() -> str:
        found = drafts.find("resting")
        assert found is not None
        return found.state

    page = "/projects/shop/playground/hello?in=resting"
    text = developer.get(page).text
    assert f'The draft sleeps. <a href="{page}&amp;rows=1">Wake it and offer its rows</a>' in text
    assert ("<datalist" in text, state()) == (False, "asleep")
    text = developer.get(f"{page}&rows=1").text
    assert ("<datalist" in text, state()) == (True, "awake")
    assert "The draft sleeps." not in text
    assert "<datalist" in developer.get(page).text


@pytest.mark.parametrize(
    ("columns", "labels"),
    [
        (("role", "api_key", "name", "bio"), ("name", "role")),
        (("api_key", "bio", "more"), ("bio",)),
        (("password_hash",), ()),
    ],
)
def test_secret_columns_are_no_labels(columns: tuple[str, ...], labels: tuple[str, ...]) -> None:
    lines = [f"  {name}: {{ type: string }}\n" for name in columns]
    table = "columns:\n  id: { type: integer, primaryKey: true }\n" + "".join(lines)
    private = "  email: { type: string, private: true }\n"
    project = FILES["project.yaml"] + "auth: { users: users, signingKey: '${ env.SECRET }' }\n"
    found = outline({**FILES, "project.yaml": project, "tables/users.yaml": table + private})
    assert find_users(found) == RowSource("users", "id", labels)
