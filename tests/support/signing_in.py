"""Who signs in and up in tests of pages, and how."""

from __future__ import annotations

from tests.support.control import PASSWORD, Browser

ADA = {"email": "ada@example.com", "password": PASSWORD}
BOB = {"email": "bob@example.com", "name": "Bob", "company": "", "password": PASSWORD}


def sign_in(browser: Browser, **change: str) -> int:
    browser.get("/signin")
    return browser.post("/signin", ADA | change).status_code
