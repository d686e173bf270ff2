"""The page of pull requests in a browser: accessible, and long titles stay in their boxes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.axe import axe, find_violations
from tests.support.browser import DESK, PHONE, chromium, find_faults, opened
from tests.support.browser_sign_in import sign_in
from tests.support.hostile_project import LONG, PAYLOAD
from tests.support.on_github import BROKEN, OnGitHub
from tests.support.patience import wait_for
from tests.support.served_people import set_up
from tests.support.small_project import hello

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

__all__ = ["axe", "chromium"]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnGitHub]:
    """A server with three pull requests: of a fork, broken, and with a hostile title."""
    server = OnGitHub(tmp_path_factory.mktemp("pulls"))
    server.propose("patch", hello(2), home=server.world.fork("mallory"), who="mallory")
    server.propose("broken", BROKEN)
    server.push("x" * 60, hello(4))
    server.world.open_pull("ada", "x" * 60, f"{PAYLOAD} {LONG[:300]}")
    wait_for(lambda: [bool(pull["check"]) for pull in list_pulls(server)] == [True] * 3)
    set_up(server).close()
    yield server
    server.stop()


def list_pulls(shop: OnGitHub) -> list[dict[str, Any]]:
    """Return the pull requests as the server lists them."""
    found: list[dict[str, Any]] = shop.control.get("/api/projects/shop/pulls").json()["pulls"]
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_pull_requests_are_accessible_and_stay_in_their_boxes(
    chromium: Browser, shop: OnGitHub, axe: str, size: Any, scheme: Any
) -> None:
    with opened(chromium, viewport=size, color_scheme=scheme) as page:
        sign_in(page, shop)
        page.goto(f"{shop.serving['control_url']}/projects/shop/proposals")
        assert page.get_by_text("cannot go live").is_visible()
        assert [*find_violations(page, axe), *find_faults(page)] == []
        assert page.evaluate("window.hacked") is None
