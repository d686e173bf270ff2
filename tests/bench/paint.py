"""LCP and CLS of the dashboard's pages in Chromium: `python -m tests.bench.paint`.

Each visit has an empty cache. The slow visits have a quarter of the CPU, 1.6 Mbit/s and 150 ms.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from playwright.sync_api import sync_playwright

from tests.support.browser import ARGUMENTS, find_chromium
from tests.support.browser_sign_in import sign_in
from tests.support.served import Served
from tests.support.served_people import serve_sample

if TYPE_CHECKING:
    from playwright.sync_api import CDPSession, Page

PAGES: Final = ("", "/endpoints", "/requests", "/playground/auth/login", "/functions/notes/list")
VISITS: Final = 5
LIMITS: Final = {"fast": 0.5, "slow": 1.5}
"""Seconds to the LCP; CLS is at most 0.02."""
_SLOW: Final = {
    "offline": False, "latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 200_000,
}  # fmt: skip
_OBSERVE: Final = """
window.painted = 0; window.shifted = 0;
new PerformanceObserver((list) => { for (const entry of list.getEntries())
  window.painted = entry.startTime / 1000;
}).observe({type: 'largest-contentful-paint', buffered: true});
new PerformanceObserver((list) => { for (const entry of list.getEntries())
  if (!entry.hadRecentInput) window.shifted += entry.value;
}).observe({type: 'layout-shift', buffered: true});
"""

_PAINTED: Final = """() => document.fonts.ready.then(() => new Promise((done) => {
  const look = () => (window.painted ? done() : requestAnimationFrame(look));
  requestAnimationFrame(look);
}))"""


def slow_down(devtools: CDPSession) -> None:
    """Give the page a quarter of the CPU and a slow network."""
    devtools.send("Network.emulateNetworkConditions", _SLOW)
    devtools.send("Emulation.setCPUThrottlingRate", {"rate": 4})


def visit(page: Page, url: str) -> tuple[float, float]:
    """Return the LCP in seconds and the CLS of a page, once its fonts are there."""
    page.goto(url)
    page.evaluate(_PAINTED)
    painted, shifted = page.evaluate("[window.painted, window.shifted]")
    return float(painted), float(shifted)


def measure(page: Page, served: Served, speed: str, count: int) -> None:
    """Print the median LCP and the largest CLS of each page."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("Network.enable")
    devtools.send("Network.setCacheDisabled", {"cacheDisabled": True})
    if speed == "slow":
        slow_down(devtools)
    for path in PAGES:
        url = f"{served.serving['control_url']}/projects/sample{path}"
        visits = [visit(page, url) for _ in range(count)]
        painted, shifted = median(lcp for lcp, _ in visits), max(cls for _, cls in visits)
        print(f"{speed:<6} {path or '/':<24} {painted:>8.2f} {LIMITS[speed]:>6} {shifted:>8.3f}")


def main(visits: int = VISITS) -> None:
    """Measure the pages of a small project, fast and slow."""
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
        with serve_sample(Path(folder)) as served:
            print(f"{'speed':<6} {'page':<24} {'LCP s':>8} {'limit':>6} {'CLS':>8}")
            for speed in LIMITS:
                page = browser.new_page(viewport={"width": 1280, "height": 800})
                page.add_init_script(_OBSERVE)
                sign_in(page, served)
                measure(page, served, speed, visits)
                page.close()
        browser.close()


if __name__ == "__main__":
    main()
