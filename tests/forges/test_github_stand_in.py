"""The stand-in for GitHub itself: git over HTTP, forks, and webhooks that fail."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import CalledProcessError

import pytest

from bbops_server.forges.hooks import find_schemes
from tests.support.github.facts import Hook
from tests.support.github.server import GitHubServer
from tests.support.github.world import GitHubWorld, push
from tests.support.patience import wait_for
from tests.support.served import git

SECRET = "secret of the webhook"


class Receiver(ThreadingHTTPServer):
    """Keeps webhooks whose signature fits."""

    def __init__(self) -> None:
        self.events: list[str] = []
        super().__init__(("127.0.0.1", 0), _Handler)
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/hooks/shop"


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        scheme = find_schemes()["github"]
        proof = scheme.proof_of(headers, SECRET)
        proof.update(body)
        if proof.matches():
            self.server.events.append(scheme.event_of(headers))
        self.send_response(202)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Print nothing."""


@pytest.fixture
def receiver(world: GitHubWorld) -> Iterator[Receiver]:
    with Receiver() as server:
        world.webhooks.hooks.append(Hook(1, server.url, SECRET, ["push", "pull_request"]))
        yield server


def clone(github: GitHubServer, folder: Path, token: str = "") -> Path:
    address = github.clone_url().replace("http://", f"http://x-access-token:{token}@")
    git(folder, "clone", "-q", address, "clone")
    return folder / "clone"


def test_push_over_http_needs_a_token(
    github: GitHubServer, world: GitHubWorld, tmp_path: Path
) -> None:
    work = clone(github, tmp_path, "wrong")
    git(work, "switch", "-qc", "topic")
    git(work, "commit", "-q", "--allow-empty", "-m", "Empty")
    with pytest.raises(CalledProcessError):
        git(work, "push", "-q", "origin", "topic")
    token = world.add_token()
    url = github.clone_url().replace("http://", f"http://x-access-token:{token}@")
    git(work, "push", "-q", url, "topic")
    assert world.open_pull("bea", "topic").head == git(work, "rev-parse", "HEAD")


def test_pushed_head_is_readable_by_its_ref(
    github: GitHubServer, world: GitHubWorld, tmp_path: Path
) -> None:
    fork = world.fork("mallory")
    push(fork, "topic", {"a.txt": "a"}, who="mallory")
    pull = world.open_pull("mallory", "topic", home=fork)
    head = push(fork, "topic", {"b.txt": "b"}, who="mallory")
    world.sync()
    work = clone(github, tmp_path)
    git(work, "fetch", "-q", "origin", f"refs/pull/{pull.number}/head")
    assert git(work, "rev-parse", "FETCH_HEAD") == head


def test_forced_push_replaces_the_head(world: GitHubWorld) -> None:
    push(world.repo, "topic", {"a.txt": "a"})
    pull = world.open_pull("bea", "topic")
    head = push(world.repo, "topic", {"b.txt": "b"}, is_forced=True)
    world.sync()
    assert pull.head == head
    assert git(world.repo.path, "ls-tree", "--name-only", head) == "README.md\nb.txt"


def test_webhook_is_signed(world: GitHubWorld, receiver: Receiver) -> None:
    push(world.repo, "topic", {"a.txt": "a"})
    world.sync()
    world.open_pull("bea", "topic")
    wait_for(lambda: receiver.events == ["push", "pull_request"])
    assert [status for _, status in world.webhooks.sent] == [202, 202]


def test_webhooks_are_lost_doubled_and_late(world: GitHubWorld, receiver: Receiver) -> None:
    world.webhooks.lost = world.webhooks.doubled = 1
    push(world.repo, "topic", {"a.txt": "a"})
    world.sync()
    world.open_pull("bea", "topic")
    wait_for(lambda: receiver.events == ["pull_request"] * 2)
    world.webhooks.is_held = True
    push(world.repo, "other", {"a.txt": "a"})
    world.sync()
    world.close(1)
    assert len(receiver.events) == 2
    world.webhooks.release(is_reversed=True)
    wait_for(lambda: receiver.events[2:] == ["pull_request", "push"])


def test_unreachable_receiver_stops_nothing(world: GitHubWorld) -> None:
    world.webhooks.hooks.append(Hook(1, "http://127.0.0.1:9/", SECRET, ["*"]))
    push(world.repo, "topic", {"a.txt": "a"})
    world.sync()
    wait_for(lambda: [status for _, status in world.webhooks.sent] == [0])
