"""An optional user by cookie: as safe as elsewhere, and never nobody by mistake."""

from __future__ import annotations

from typing import Any

from tests.conftest import Files, Serving
from tests.support.cookies import Browser
from tests.support.raw_requests import token
from tests.support.session_project import project, tell

WHO = "authentication: Optional\nsteps:\n  - return: { value: { who: '${ vars.auth?.userId }' } }\n"
LOGIN = ("POST", "/api/login", {"user": "ada"})
CROSS = {"sec-fetch-site": "cross-site", "origin": "https://evil.example"}


def optional() -> Files:
    """Return the project of sessions with two routes that take users and nobody."""
    return project() | {
        "endpoints/who.yaml": f"method: GET\npath: /who\n{WHO}",
        "endpoints/say.yaml": f"method: POST\npath: /say\n{WHO}",
    }


def test_the_cookie_is_the_user_and_without_one_there_is_nobody(serving: Serving) -> None:
    async def story(browser: Browser) -> list[Any]:
        before = await browser.ask("GET", "/who")
        said = await browser.ask("POST", "/say")
        await browser.ask(*LOGIN)
        found = [await browser.ask("GET", "/who"), await browser.ask("POST", "/say")]
        return [one.json for one in (before, said, *found)]

    nobody, ada = {"who": None}, {"who": "ada"}
    assert tell(serving, story, optional()) == [nobody, nobody, ada, ada]


def test_a_change_by_cookie_from_elsewhere_is_403_and_not_nobody(serving: Serving) -> None:
    async def story(browser: Browser) -> list[int]:
        await browser.ask(*LOGIN)
        cross = await browser.ask("POST", "/say", headers=CROSS)
        unmarked = await browser.ask("POST", "/say", csrf=False)
        return [cross.status, unmarked.status]

    assert tell(serving, story, optional()) == [403, 403]


def test_a_cookie_that_is_not_valid_is_401_and_not_nobody(serving: Serving) -> None:
    async def story(browser: Browser) -> list[int]:
        browser.cookies["session", "/"] = token(exp=1)["authorization"].partition(" ")[2]
        expired = await browser.ask("GET", "/who")
        browser.cookies["session", "/"] = "nothing"
        return [expired.status, (await browser.ask("GET", "/who")).status]

    assert tell(serving, story, optional()) == [401, 401]


def test_a_bad_header_beside_a_good_cookie_is_401(serving: Serving) -> None:
    async def story(browser: Browser) -> int:
        await browser.ask(*LOGIN)
        return (await browser.ask("GET", "/who", headers={"authorization": "Basic x"})).status

    assert tell(serving, story, optional()) == 401
