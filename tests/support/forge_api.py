"""A stand-in for the comments of GitHub, Gitea, Forgejo and GitLab, on a free port.

Its responses have the shapes of the published descriptions: GitHub's OpenAPI (npm
`@octokit/openapi`, which tests/ci/test_forge_schema.py compares with this server), Gitea's
`Comment`, and GitLab's "Notes API".
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

TIME = "2026-11-29T12:00:00Z"
OTHER_USER = "mallory"


@dataclass(frozen=True)
class ForgeRequest:
    """A request that the forge got."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: Any


class ForgeApi(ThreadingHTTPServer):
    """Keeps the comments of one proposal.

    Attributes:
        login: the user of the token, as `GET /user` returns it; None answers 403, as for the
            token of a job.
        writes: the status of requests that write, if it is not a success.
        reads: the status of the list, if it is not a success.
        ignores_pages: whether each page has all comments, as in Gitea.
    """

    daemon_threads = True

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.login = "bbops-ci" if kind == "gitlab" else None
        self.writes = self.reads = 0
        self.ignores_pages = kind == "gitea"
        self.comments: list[tuple[int, str, str]] = []
        self.requests: list[ForgeRequest] = []
        self.answers: list[tuple[ForgeRequest, int, Any]] = []
        super().__init__(("127.0.0.1", 0), _Handler)
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self.shutdown()  # else the thread goes on with a closed socket, without a pause
        self.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def bot(self) -> str:
        return "gitea-actions" if self.kind == "gitea" else "github-actions[bot]"

    def add(self, body: str, author: str = "") -> int:
        number = len(self.comments) + 1_000
        self.comments.append((number, body, author or self.login or self.bot))
        return number

    @property
    def bodies(self) -> list[str]:
        return [body for _, body, _ in self.comments]

    def answer(self, request: ForgeRequest) -> tuple[int, Any]:
        if request.path.endswith("/user"):
            return (200, self._user(self.login)) if self.login else (403, {"message": "no user"})
        if request.method == "GET":
            return (self.reads, {"message": "no"}) if self.reads else (200, self._page(request))
        if self.writes:
            return self.writes, {"message": "Resource not accessible by integration"}
        if request.method == "POST":
            number = self.add(request.body["body"])
            return 201, self._comment(number)
        number = int(request.path.rpartition("/")[2])
        self.comments = [
            (known, request.body["body"] if known == number else body, author)
            for known, body, author in self.comments
        ]
        return 200, self._comment(number)

    def _page(self, request: ForgeRequest) -> list[Any]:
        numbers = [number for number, _, _ in self.comments]
        query = parse_qs(request.query)
        page, size = int(query["page"][0]), int(query["per_page"][0])
        if not self.ignores_pages:
            numbers = numbers[(page - 1) * size : page * size]
        return [self._comment(number) for number in numbers]

    def _comment(self, number: int) -> dict[str, Any]:
        _, body, author = next(comment for comment in self.comments if comment[0] == number)
        issue = f"{self.url}/repos/ada/shop/issues"
        shared = {"id": number, "body": body, "created_at": TIME, "updated_at": TIME}
        if self.kind == "gitlab":
            return {**shared, "author": self._user(author), "system": False, "noteable_iid": 12}
        return {
            **shared, "node_id": "IC_1", "url": f"{issue}/comments/{number}",
            "html_url": f"{issue}/12#issuecomment-{number}", "issue_url": f"{issue}/12",
            "author_association": "NONE", "user": self._user(author),
            "performed_via_github_app": None,
        }  # fmt: skip

    def _user(self, login: str) -> dict[str, Any]:
        if self.kind == "gitlab":
            return {"id": 7, "username": login, "name": login}
        if self.kind == "gitea":
            return {"id": 7, "login": login, "full_name": login}
        return github_user(self.url, login)


def github_user(url: str, login: str) -> dict[str, Any]:
    """Return a user as GitHub describes it."""
    user = f"{url}/users/{login.removesuffix('[bot]')}"
    lists = (
        "followers", "following", "gists", "starred", "subscriptions", "organizations", "repos",
        "events", "received_events",
    )  # fmt: skip
    return {
        "login": login, "id": 7, "node_id": "U_1", "avatar_url": user, "gravatar_id": "",
        "url": user, "html_url": user, "type": "Bot" if login.endswith("[bot]") else "User",
        "site_admin": False, **{f"{name}_url": f"{user}/{name}" for name in lists},
    }  # fmt: skip


class _Handler(BaseHTTPRequestHandler):
    server: ForgeApi

    def _answer(self) -> None:
        parts = urlsplit(self.path)
        data = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = json.loads(data) if data else None
        request = ForgeRequest(self.command, parts.path, parts.query, headers, body)
        self.server.requests.append(request)
        status, value = self.server.answer(request)
        self.server.answers.append((request, status, value))
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PATCH = do_PUT = _answer  # noqa: N815 - the base's names

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Print nothing."""


@pytest.fixture(params=["github", "gitea", "gitlab"])
def forge_api(request: pytest.FixtureRequest) -> Iterator[ForgeApi]:
    """A forge of each kind."""
    with open_forge(request.param) as server:
        yield server


@pytest.fixture
def github_api() -> Iterator[ForgeApi]:
    with open_forge("github") as server:
        yield server


def open_forge(kind: str) -> ForgeApi:
    return ForgeApi(kind)


TOKEN = "ghs_0123456789abcdef"


def variables(forge: ForgeApi, *, number: int = 12) -> dict[str, str]:
    """Return the variables of a job of a proposal, with its token; GitHub needs an event file."""
    if forge.kind == "gitlab":
        return {
            "GITLAB_CI": "true", "CI_MERGE_REQUEST_IID": str(number), "CI_PROJECT_PATH": "ada/shop",
            "CI_API_V4_URL": f"{forge.url}/api/v4", "GITLAB_TOKEN": TOKEN,
        }  # fmt: skip
    base = {
        "GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_REPOSITORY": "ada/shop", "GITHUB_API_URL": forge.url, "GITHUB_TOKEN": TOKEN,
    }  # fmt: skip
    return base | ({"GITEA_ACTIONS": "true"} if forge.kind == "gitea" else {})
