"""A server whose branches are previewed, and what its drafts may try to reach."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import pytest

from tests.support.patience import PATIENCE_SECONDS, wait_for
from tests.support.served import LIST, PAGE, Served, git, make_project

SECRETS = {
    "STRIPE_KEY": "sk_live_nobody_may_see_this",
    "JWT_SECRET": "x" * 20 + "live-key" + "y" * 20,
}
NOTE = "the live note that nobody else may read"


class Listener(HTTPServer):
    """What code of a draft tries to send things to."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        super().__init__(("127.0.0.1", 0), _Take)


class _Take(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        length = int(self.headers["content-length"])
        self.server.heard.append(self.rfile.read(length))  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    with Listener() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    box = tmp_path_factory.mktemp("box")
    repository = make_project(box / "sample")
    project = (repository / "project.yaml").read_text()
    secret = "  STRIPE_KEY: { secret: true, required: false }\n"
    (repository / "project.yaml").write_text(project.replace("env:\n", f"env:\n{secret}"))
    git(repository, "commit", "-qam", "Take money")
    egress = "egress: { allow: [127.0.0.1] }\n"
    (box / "server.yaml").write_text(f"{egress}projects: {{ notes: {{ repository: sample }} }}\n")
    with Served(box, box / "home") as server:
        server.repository = repository
        server.live()
        for name, value in SECRETS.items():
            assert not server.bbops(
                "env",
                "set",
                name,
                value,
                "--project",
                "notes",
                "--state",
                str(box / ".bbops/state"),
            ).returncode
            server.live()
        headers = server.sign_up()
        assert server.api.post("/api/v1/notes", json={"title": NOTE}, headers=headers).is_success
        yield server


@contextmanager
def branch(served: Served, name: str) -> Iterator[None]:
    """Work on a new branch, then go back to main."""
    git(served.repository, "checkout", "-qb", name)
    try:
        yield
    finally:
        git(served.repository, "checkout", "-q", "main")


def push(served: Served, name: str, field: str) -> str:
    """Make a branch on which the list of notes has one more field; return its commit."""
    with branch(served, name):
        served.edit(LIST, PAGE, f"{PAGE}\n        {field}: true")
        return served.commit(f"Add {field}")


def enter(served: Served, name: str) -> httpx.Client:
    """Return a client that is let into a draft, once there is one."""
    wait_for(lambda: name in {one["branch"] for one in drafts(served)})
    made = json.loads(served.bbops("drafts", "token", name, "--json").stdout)
    return httpx.Client(
        base_url=made["url"], headers={"x-draft-token": made["token"]}, timeout=PATIENCE_SECONDS
    )


def drafts(served: Served) -> list[dict[str, str]]:
    return list(served.control.get("/api/projects/notes/drafts").json())


def find(served: Served, name: str) -> dict[str, str]:
    (found,) = [one for one in drafts(served) if one["branch"] == name]
    return found


def answered(ask: Callable[[], httpx.Response]) -> httpx.Response:
    """Ask a draft again while it wakes up: on a busy machine it says so, and when to come back."""
    found: list[httpx.Response] = []

    def is_awake() -> bool:
        found.append(ask())
        return "draftSleeps" not in found[-1].text

    wait_for(is_awake)
    return found[-1]


def sign_up(client: httpx.Client) -> dict[str, str]:
    ada = {"email": "ada@example.com", "password": "a long enough password", "name": "Ada"}
    reply = answered(lambda: client.post("api/auth/register", json=ada))
    assert reply.status_code == 201, reply.text
    return {"authorization": f"Bearer {reply.json()['token']}"}


@contextmanager
def drafts_set(served: Served, text: str) -> Iterator[None]:
    """Serve with other settings of drafts, then with the former ones."""
    before = (served.repository.parent / "server.yaml").read_text()
    _change_settings(served, f"drafts: {text}\n{before}")
    try:
        yield
    finally:
        _change_settings(served, before)


def _change_settings(served: Served, text: str) -> None:
    """Replace the server's file, and wait until the server has applied it."""
    file = served.repository.parent / "server.yaml"
    new = file.with_suffix(".new")
    new.write_text(text)
    new.rename(file)
    while served.events.get(timeout=PATIENCE_SECONDS)["event"] != "applied":
        pass


def address(listener: Listener) -> str:
    return f"http://127.0.0.1:{listener.server_port}/"


def allow_host(served: Served, name: str, host: str) -> None:
    """Let a draft reach a host at its newest commit."""
    wait_for(lambda: name in {one["branch"] for one in drafts(served)})
    head = git(served.repository, "rev-parse", name)
    wait_for(lambda: find(served, name)["commit"] == head)
    done = served.bbops("drafts", "allow", name, host)
    assert done.returncode == 0, done.stderr


def write_flow(served: Served, name: str, steps: str) -> None:
    """Add a public endpoint `POST /leak` with these steps."""
    functions, endpoints = served.repository / "functions", served.repository / "endpoints"
    lines = [line.removeprefix(" " * 8) for line in steps.strip("\n").splitlines()]
    (functions / f"{name}.yaml").write_text("steps:\n" + "\n".join(lines) + "\n")
    (endpoints / f"{name}.yaml").write_text(
        f"method: POST\npath: /leak\nfunction: {name}\nauthentication: None\n"
    )
