"""What a server hands over beside one project: several of them, workers, and drafts."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from tests.support.patience import PATIENCE_SECONDS, wait_for
from tests.support.replacing import FakeSuccessor
from tests.support.served import git
from tests.support.several import TWO, Several, folder

__all__ = ["folder"]
pytestmark = pytest.mark.long


def release_of(served: Several, path: str, host: str = "localhost") -> str:
    """Return the release that answers, which must be one."""
    reply = served.ask(path, host)
    assert reply.status_code == 200, reply.text
    return reply.headers["x-release"]


def enter(served: Several, name: str) -> httpx.Client:
    """Return a client that is let into a draft, once there is one."""
    made = wait_for(lambda: served.bbops("drafts", "token", name, "--json").stdout)
    told = json.loads(made)
    return httpx.Client(
        base_url=told["url"], headers={"x-draft-token": told["token"]}, timeout=PATIENCE_SECONDS
    )


def test_every_project_is_handed_over_and_followed_on(folder: Path) -> None:
    with Several(folder, TWO, "--workers", "2") as old:
        wait_for(lambda: old.ask("/hello", "two.test").is_success)
        wait_for(lambda: old.ask("/one/hello").is_success)
        commit = old.commit_version("one", 2)
        wait_for(lambda: release_of(old, "/one/hello") == commit[:12])
        with Several(folder, "", "--workers", "2", "--replace") as new:
            assert old.process.wait(PATIENCE_SECONDS) == 0
            assert release_of(new, "/one/hello") == commit[:12]
            assert release_of(new, "/hello", "two.test")
            newest = new.commit_version("two", 3)
            wait_for(lambda: release_of(new, "/hello", "two.test") == newest[:12])


def test_a_draft_goes_on_after_a_handover_and_after_one_that_failed(folder: Path) -> None:
    git(folder / "one", "branch", "idea")
    with Several(folder, "projects:\n  one: { repository: ./one }\n") as old:
        old.until("live", "one")
        with enter(old, "idea") as client:
            wait_for(lambda: client.get("hello").is_success)
            with FakeSuccessor(old.state) as other:
                assert other.say({"do": "give up"}) == {"done": "given up"}
                assert client.get("hello").status_code == 503
            wait_for(lambda: client.get("hello").is_success)
            with Several(folder, "", "--replace"):
                assert old.process.wait(PATIENCE_SECONDS) == 0
                wait_for(lambda: client.get("hello").is_success)
