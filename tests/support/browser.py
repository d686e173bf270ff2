"""A real Chromium for tests: used as people use it, by keyboard, and asked what they would see."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PHONE = {"width": 375, "height": 720}
DESK = {"width": 1100, "height": 800}
MOST_TABS = 80
NAMES = (
    "chromium", "chromium-browser", "google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)  # fmt: skip
ARGUMENTS = ["--no-sandbox"]
INSTALL = "apt-get install chromium"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The browser of this machine; a test that needs it fails where there is none.

    What drives it has an event loop in this thread: at the end of a file that is over.
    """
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - few tests need it

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
        yield browser
        browser.close()


def find_chromium() -> str:
    """Return where it is; fails the test where there is none."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.fail(f"no Chromium is installed: {INSTALL}")
    return found


@contextmanager
def opened(browser: Browser, **more: Any) -> Iterator[Page]:
    """Open a page in a browser of its own; at the end nothing may have been complained about."""
    context = browser.new_context(viewport=more.pop("viewport", DESK), **more)
    page, complaints = context.new_page(), list[str]()
    page.on("console", lambda one: complaints.append(one.text) if one.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    try:
        yield page
    finally:
        context.close()
    assert complaints == []


# ---- by keyboard alone
def go_to(page: Page, name: str) -> None:
    """Press Tab until something of this name has the focus, which must be seen."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if page.evaluate(_NAME) == name:
            assert page.evaluate(_IS_SEEN), f"nobody sees that '{name}' has the focus"
            return
    pytest.fail(f"Tab does not lead to '{name}'; there is {page.evaluate(_ALL_NAMES)}")


def press(page: Page, name: str) -> None:
    """Press a button or follow a link, and wait for the page that comes."""
    go_to(page, name)
    with page.expect_navigation():
        page.keyboard.press("Enter")


def write(page: Page, label: str, text: str) -> None:
    """Write into a field."""
    go_to(page, label)
    page.keyboard.type(text)


# ---- what anybody would see
def find_faults(page: Page) -> list[str]:
    """Return what is wrong with a page: labels, headings, contrast, and on a phone its size."""
    found: list[str] = page.evaluate(_FAULTS, page.viewport_size == PHONE)
    return found


_NAMING = """
const nameOf = (one) => {
  const label = one.labels && one.labels[0];
  const text = one.getAttribute('aria-label') || (label ? label.innerText : one.innerText);
  return (text || '').trim();
};
"""
_NAME = f"() => {{ {_NAMING} return nameOf(document.activeElement); }}"
_ALL_NAMES = (
    f"() => {{ {_NAMING} return [...document.querySelectorAll('a, button, input, select, textarea,"
    " summary')].map(nameOf).filter(Boolean); }"
)
_IS_SEEN = """() => {
  const style = getComputedStyle(document.activeElement);
  return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
}"""
_FAULTS = """(isPhone) => {
  const faults = [], NAMING = 0;
  const all = (what) => [...document.querySelectorAll(what)].filter((one) =>
    one.checkVisibility({visibilityProperty: true}) && one.type !== 'hidden'
    && !one.closest('.skip'));
  NAMES
  if (!document.documentElement.lang) faults.push('no language');
  if (all('h1').length !== 1) faults.push('not one h1');
  for (const one of all('input, select, textarea, button, a, img')) {
    const name = one.tagName === 'IMG' ? one.getAttribute('alt') : nameOf(one);
    if (name === null || (one.tagName !== 'IMG' && !name)) faults.push('no name: ' + one.outerHTML);
  }
  const ids = all('[id]').map((one) => one.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) faults.push('twice: #' + id);
  const parse = (text) => {
    const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number);
    return {rgb: [r, g, b], a};
  };
  const light = ({rgb}) => rgb.map((c) => c / 255).map((c) =>
    c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (one) => {
    for (; one; one = one.parentElement) {
      const found = parse(getComputedStyle(one).backgroundColor);
      if (found.a > 0) return found;
    }
    return parse('rgb(255, 255, 255)');
  };
  for (const one of all('main *, header *, footer *')) {
    if (![...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
    const [a, b] = [light(parse(getComputedStyle(one).color)), light(ground(one))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) faults.push(`contrast ${ratio.toFixed(2)}: ${one.innerText.slice(0, 40)}`);
  }
  if (document.documentElement.scrollWidth > innerWidth) faults.push('scrolls sideways');
  if (isPhone) {
    for (const one of all('button, .button, nav a, select, summary, textarea, input, a')) {
      const target = ['checkbox', 'radio'].includes(one.type) ? one.labels[0] : one;
      const inText = one.tagName === 'A' && !one.matches('.button, nav a');
      const height = target.getBoundingClientRect().height;
      if (height < (inText ? 18 : 43.9)) faults.push(`small (${height}): ${nameOf(one)}`);
    }
  }
  return faults;
}""".replace("NAMES", _NAMING).replace(", NAMING = 0", "")
