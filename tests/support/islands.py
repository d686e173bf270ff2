"""Islands in tests: the built files, pages without them, and a tab that is hidden."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest

from bbops_server.control_plane.web.islands import Islands

if TYPE_CHECKING:
    from playwright.sync_api import Page

_TAG: Final = re.compile(
    r'<script type="module" src="/built/[\w.-]+" integrity="sha384-[\w+/=]+"></script>'
)


def without_islands(page: str) -> str:
    """Return a page without the script tags of the build; any other script stays."""
    return _TAG.sub("", page)


@pytest.fixture(scope="session")
def islands() -> Islands:
    """The built islands of this checkout; a test that needs them fails without them."""
    found = Islands.load()
    if not found.files:
        pytest.fail("the islands are not built: BBOPS_ISLANDS=need pip install -e .")
    return found


def hide(page: Page, *, is_hidden: bool) -> None:
    """Hide a page, or show it again, as a browser does when its tab changes."""
    page.evaluate(_HIDE, is_hidden)


_HIDE: Final = """(isHidden) => {
  Object.defineProperty(document, 'hidden', {get: () => isHidden, configurable: true});
  document.dispatchEvent(new Event('visibilitychange'));
}"""
