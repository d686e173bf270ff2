"""A server with people: set up, signed in."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx

from tests.support import warm
from tests.support.control import CSRF, PASSWORD
from tests.support.patience import PATIENCE_SECONDS
from tests.support.served import Served, environment, make_project


def run(served: Served, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command in the repository, whose state folder holds the server's key."""
    return warm.run(
        arguments, cwd=served.repository,
        env=environment(served.home) | {"BBOPS_SERVER": served.serving["control_url"]},
    )  # fmt: skip


@contextmanager
def serve_sample(folder: Path) -> Iterator[Served]:
    """Serve the sample project in a folder, live and with the account of Ada, its owner."""
    with Served(make_project(folder / "sample"), folder / "home") as served:
        served.live()
        set_up(served).close()
        yield served


def set_up(served: Served) -> httpx.Client:
    link = served.serving["setup_url"]
    browser = httpx.Client(
        base_url=served.serving["control_url"],
        headers={"accept": "text/html"},
        timeout=PATIENCE_SECONDS,
    )
    found = CSRF.search(browser.get(link).text)
    assert found is not None
    (token,) = parse_qs(urlsplit(link).query)["token"]
    form = {"csrf": found[1], "token": token, "name": "Ada", "email": "ada@example.com"}
    assert browser.post("/setup", data=form | {"password": PASSWORD}).status_code == 303
    return browser
