"""From the address of everybody to the tools of a project, over HTTP and on a server that runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from bbops_server.accounts.rules import GrantScope
from bbops_server.control_plane.app import create_control
from tests.support import granting
from tests.support.agents import HEADERS, message
from tests.support.agents_at_server import House
from tests.support.checkouts import make_repository

SERVER = """
projects:
  shop: { repository: ./shop, pathPrefix: /shop }
  other: { repository: ./other, pathPrefix: /other }
"""


class Door:
    """The control plane of a house, asked over HTTP by somebody's agent."""

    def __init__(self, house: House) -> None:
        self.house, self.app = house, create_control(house.control)
        self.url = house.control.settings.control_url

    def ask(
        self, who: str, tool: str, arguments: Any = None, *, url: str = "",
        scopes: tuple[GrantScope, ...] = (GrantScope.PROJECT,), resource: str = "",
    ) -> httpx.Response:  # fmt: skip
        people = self.house.book.people
        person = people.get(f"{who}@example.com")
        assert person is not None
        resource = resource or f"{self.url}/mcp"
        token = granting.give(self.house.book, person, *scopes, resource=resource)
        headers = HEADERS | {"authorization": f"Bearer {token}"}
        params = {"name": tool, "arguments": arguments or {}}
        return self.house.run(self._send(url or resource, headers, message("tools/call", params)))

    async def _send(self, url: str, headers: dict[str, str], body: Any) -> httpx.Response:
        transport = httpx.ASGITransport(self.app)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, headers=headers) as client:
            return await client.post(url, json=body)

    def address(self, who: str, project: str) -> str:
        result = self.ask(who, "project_select", {"projectId": project}).json()["result"]
        found: str = result["structuredContent"]["mcpUrl"]
        return found


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    folder = tmp_path_factory.mktemp("house")
    for name in ("shop", "other"):
        make_repository(folder / name)
    with House(folder, SERVER) as house:
        yield Door(house)


def test_a_selected_project_is_worked_on_at_its_address(door: Door) -> None:
    url = door.address("developer", "shop")
    context = door.ask("developer", "context_get", url=url).json()["result"]
    assert context["structuredContent"]["project"] == "shop"
    other = door.address("developer", "other")
    context = door.ask("developer", "context_get", url=other).json()["result"]
    assert context["structuredContent"]["project"] == "other"


def test_a_project_tells_its_routes_before_it_is_worked_on(door: Door) -> None:
    given = {"projectId": "shop"}
    found = door.ask("viewer", "project_get_public_context", given).json()["result"]
    routes = {one["path"] for one in found["structuredContent"]["routes"]}
    assert "/hello" in routes


def test_a_change_takes_the_scope_and_the_role(door: Door) -> None:
    url = door.address("developer", "shop")
    put = {"op": "put", "ref": "function/new", "body": {"steps": [{"return": {"value": 1}}]}}
    preview = door.ask("viewer", "preview_changes", {"changes": [put]}, url=url).json()["result"]
    assert not preview["isError"], preview
    given = {"draft": "new", "plan": preview["structuredContent"]["plan"], "message": "Add it"}
    assert door.ask("developer", "apply_changes", given, url=url).status_code == 403
    builder = (GrantScope.BUILDER,)
    held = door.ask("viewer", "apply_changes", given, url=url, scopes=builder).json()["result"]
    assert held["isError"]
    assert "developer" in held["content"][0]["text"]
    done = door.ask("developer", "apply_changes", given, url=url, scopes=builder).json()["result"]
    assert done["structuredContent"]["draft"] == "new"
    noted = [one for one in door.house.book.audit.list() if one.action == "commit to draft"]
    assert noted[0].who == "developer@example.com"


def test_a_grant_of_one_project_reaches_no_other(door: Door) -> None:
    shop, other = door.address("developer", "shop"), door.address("developer", "other")
    assert door.ask("developer", "context_get", resource=shop).status_code == 200
    assert door.ask("developer", "context_get", url=other, resource=shop).status_code == 401
    assert door.ask("stranger", "context_get", url=shop).status_code == 403


def test_jobs_take_the_scope_data_and_changes_of_them_builder_and_a_maintainer(door: Door) -> None:
    url = door.address("developer", "shop")
    assert door.ask("developer", "work_list", url=url).status_code == 403
    data, builder = (GrantScope.DATA,), (GrantScope.BUILDER,)
    listed = door.ask("developer", "work_list", url=url, scopes=data).json()["result"]
    assert listed["structuredContent"]["jobs"] == []
    given = {"job": "tasks/beat@1"}
    assert door.ask("developer", "work_cancel", given, url=url, scopes=data).status_code == 403
    held = door.ask("developer", "work_cancel", given, url=url, scopes=builder).json()["result"]
    assert held["isError"]
    assert "maintainer" in held["content"][0]["text"]
    done = door.ask("maintainer", "work_cancel", given, url=url, scopes=builder).json()["result"]
    assert "there is no job 'tasks/beat@1'" in done["content"][0]["text"]
