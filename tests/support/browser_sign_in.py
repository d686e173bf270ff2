"""Sign in with a browser, by keyboard or without scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.browser import write
from tests.support.control import PASSWORD
from tests.support.served import Served

if TYPE_CHECKING:
    from playwright.sync_api import Page


def sign_in(page: Page, served: Served) -> None:
    page.goto(f"{served.serving['control_url']}/signin")
    write(page, "E-mail address", "ada@example.com")
    write(page, "Password", PASSWORD)
    with page.expect_navigation():
        page.keyboard.press("Enter")


def sign_in_by_form(page: Page, served: Served) -> None:
    page.goto(f"{served.serving['control_url']}/signin")
    page.get_by_label("E-mail address").fill("ada@example.com")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
