"""Agents test the connections of addons: who may, how often, and with whose values."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bbops_server.accounts.limits import Limit
from bbops_server.accounts.rules import GRANTED, RULES, GrantScope, Permission, Role
from tests.support.agents_at_server import House
from tests.support.checkouts import make_repository
from tests.vendors.stand_in import Answer, StandIn

pytestmark = pytest.mark.long

FILES = {
    "addons/aiModel.yaml": (
        'enabled: true\nconfig: { apiKey: "${ env.SECRET }", endpoint: URL }\n'
    ),
}


@pytest.fixture(scope="module")
def vendor() -> Iterator[StandIn]:
    with StandIn(Answer(body={"data": []})) as found:
        yield found


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, vendor: StandIn) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("addons")
    files = {path: text.replace("URL", vendor.url) for path, text in FILES.items()}
    make_repository(folder / "shop", files)
    text = "projects:\n  shop: { repository: ./shop, pathPrefix: /shop }\n"
    with House(folder, f"{text}egress: {{ allow: [127.0.0.1] }}\n") as found:
        yield found


@pytest.fixture(autouse=True)
def fresh(house: House) -> None:
    house.control.limits.addon_tests = Limit(10, 60)


def test_a_developers_agent_tests_what_is_live_on_record(house: House) -> None:
    found = house.agent().call("work_test_addon", addon="aiModel")
    assert (found["addon"], found["state"], found["text"]) == ("aiModel", "works", "works")
    (noted,) = [one for one in house.book.audit.list() if one.action == "test addon"][:1]
    assert noted.object == "shop aiModel: works"


def test_an_agent_without_the_scope_may_not(house: House) -> None:
    granted = house.agent(how="grant", granted=frozenset({GrantScope.PROJECT, GrantScope.DATA}))
    refused = granted.refused("work_test_addon", addon="aiModel")
    assert "your grant lacks the scope" in refused.message
    builder = house.agent(how="grant", granted=frozenset({GrantScope.BUILDER, GrantScope.PROJECT}))
    assert builder.call("work_test_addon", addon="aiModel")["state"] == "works"


@pytest.mark.parametrize("name", ["viewer", "stranger"])
def test_who_has_too_small_a_role_may_not(house: House, vendor: StandIn, name: str) -> None:
    before = len(vendor.asked)
    house.agent(name).refused("work_test_addon", addon="aiModel")
    assert len(vendor.asked) == before


def test_ten_a_minute_for_each_project(house: House, vendor: StandIn) -> None:
    agent, before = house.agent(), len(vendor.asked)
    for _ in range(10):
        agent.call("work_test_addon", addon="aiModel")
    refused = house.agent("maintainer").refused("work_test_addon", addon="aiModel")
    assert "too many tests of addons; try again in" in refused.message
    assert len(vendor.asked) == before + 10


def test_the_rule_is_that_of_who_develops() -> None:
    rule = RULES[Permission.TEST_ADDONS]
    assert (rule.where, rule.role) == ("project", Role.DEVELOPER)
    assert {one for one in GrantScope if Permission.TEST_ADDONS in GRANTED[one]} == {
        GrantScope.BUILDER
    }
