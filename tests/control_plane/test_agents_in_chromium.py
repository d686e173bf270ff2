"""The pages of agents in a browser: accessible, on a phone, with hostile texts of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.support.axe import axe, find_violations
from tests.support.browser import DESK, PHONE, find_faults, opened
from tests.support.browser_sign_in import sign_in, sign_in_by_form
from tests.support.helpdesk import Helpdesk, helpdesk, talk
from tests.support.hostile_project import LONG, PAYLOAD
from tests.support.models import Call, Say, Together
from tests.support.patience import wait_for
from tests.support.served_people import set_up

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

__all__ = ["axe", "helpdesk"]
HOSTILE: Final = f"{PAYLOAD} {LONG}"
SCRIPT: Final = [
    Together(Say(HOSTILE), Call("notes__add", {"text": HOSTILE[:200]})),
    Call("notes__list"),
    Say(HOSTILE),
]
_OUTSIDE: Final = """() => [...document.querySelectorAll('main *')].filter((one) => {
  const box = one.getBoundingClientRect();
  if (!box.width || one.closest('.sr-only, .table, .tabs, pre, svg')) return false;
  return box.right > document.documentElement.clientWidth + 1;
}).map((one) => one.outerHTML.slice(0, 120))"""


def test_pages_of_agents_are_accessible_and_keep_hostile_texts_in_their_boxes(
    helpdesk: Helpdesk, chromium: Browser, axe: str
) -> None:
    served = helpdesk(SCRIPT)
    set_up(served).close()
    talk(served, HOSTILE)
    base = served.serving["control_url"] + "/projects/desk/agents"
    found: list[str] = []
    with opened(chromium) as page:
        sign_in(page, served)
        for is_decided in (False, True):
            for size in (DESK, PHONE):
                page.set_viewport_size(size)
                page.goto(base)
                found += [*find_faults(page), *find_violations(page, axe), *page.evaluate(_OUTSIDE)]
                page.get_by_role("link", name="agents/helpdesk/chat@").last.click()
                page.get_by_role("heading", name="Steps").wait_for()
                found += [*find_faults(page), *find_violations(page, axe), *page.evaluate(_OUTSIDE)]
                assert page.evaluate("window.hacked") is None
            if not is_decided:
                page.get_by_role("button", name="Approve notes/add").click()
                page.get_by_text("The call is approved").wait_for()
                wait_for(lambda: page.goto(base) and page.get_by_text("done").count())
    assert found == [], "\n".join(found)


def test_call_is_rejected_without_scripts(helpdesk: Helpdesk, chromium: Browser) -> None:
    served = helpdesk([Call("notes__add", {"text": "tea"}), Say("It is not there.")])
    set_up(served).close()
    talk(served, "Add tea")
    with opened(chromium, java_script_enabled=False) as page:
        sign_in_by_form(page, served)
        page.goto(served.serving["control_url"] + "/projects/desk/agents")
        page.get_by_role("button", name="Reject notes/add").click()
        page.get_by_text("The call is rejected").wait_for()
        assert page.get_by_role("button", name="Approve notes/add").count() == 0
    assert served.api.get("/notes").json() == []
