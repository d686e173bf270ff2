"""workspaceDocs, held against notion-client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.vendors.scenario import CANARY, Scenario, Vendor
from tests.vendors.stand_in import Answer


def asking(*requests: Callable[[Any], object]) -> Callable[[str], object]:
    """Return what asks the library, which talks to an address."""

    def ask(url: str) -> object:
        from notion_client import Client  # noqa: PLC0415 - of the extra 'vendors'

        with Client(auth=CANARY, base_url=url, notion_version="2026-03-11") as client:
            return [request(client) for request in requests]

    return ask


def find(client: Any) -> object:
    return client.databases.retrieve("d1")


def query(client: Any) -> object:
    return client.data_sources.query(
        "ds1", filter={"property": "A", "checkbox": {"equals": True}},
        sorts=[{"property": "N", "direction": "ascending"}], page_size=100,
    )  # fmt: skip


def create(client: Any) -> object:
    parent = {"type": "data_source_id", "data_source_id": "ds1"}
    title = {"title": [{"text": {"content": "ü"}}]}
    return client.pages.create(parent=parent, properties={"Name": title}, children=[])


DATABASE = Answer(body={"id": "d1", "data_sources": [{"id": "ds1", "name": "All"}]})
TOLD = {
    "id": "p1", "url": "https://x/p1", "created_time": "2026-01-02T03:04:05Z",
    "last_edited_time": "2026-01-02T03:04:05Z", "properties": {},
}  # fmt: skip
PAGE = TOLD | {"archived": False}
FOUND = {"results": [TOLD | {"in_trash": False}], "has_more": False, "next_cursor": None}

VENDOR = Vendor(
    "workspaceDocs",
    "integrationToken: ${ env.DOCS_TOKEN }\nendpoint: URL",
    {"DOCS_TOKEN": CANARY},
    (
        Scenario(
            "workspaceDocs.updatePage: { pageId: p1, properties: { Done: { checkbox: true } } }",
            asking(lambda to: to.pages.update("p1", properties={"Done": {"checkbox": True}})),
            Answer(body=TOLD | {"in_trash": False}), PAGE,
        ),
        Scenario(
            "workspaceDocs.queryDatabase: { databaseId: d1,"
            " filter: { property: A, checkbox: { equals: true } },"
            " sorts: [{ property: N, direction: ascending }] }",
            asking(find, query), (DATABASE, Answer(body=FOUND)), FOUND | {"results": [PAGE]},
            counts={"404": 2},  # the id may be that of a data source itself
        ),
        Scenario(
            "workspaceDocs.createPage: { databaseId: d1, content: [],"
            " properties: { Name: { title: [{ text: { content: ü } }] } } }",
            asking(find, create), (DATABASE, Answer(body=TOLD | {"in_trash": False})), PAGE,
            counts={"404": 2},
        ),
    ),
    headers=("authorization", "notion-version"),
    refusal={"object": "error", "code": "validation_error", "message": "Bad filter."},
    words="Bad filter.",
    reason="validation_error",
)  # fmt: skip
