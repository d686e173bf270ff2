"""A control plane for tests: one project, real accounts, a browser that keeps its cookies."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import bcrypt
import httpx
import msgspec
import pytest
from litestar import Litestar

from bbops.base.errors import ServerError
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.interfaces.answers import (
    CommitStatus,
    DraftStatus,
    ProjectCondition,
    Publication,
    ServerStatus,
    Status,
)
from bbops.review.contract.contract import Contract, Page
from bbops.review.contract.files import render_json
from bbops_server.accounts.book import Book
from bbops_server.accounts.people import NewPerson, Person
from bbops_server.accounts.rules import Role
from bbops_server.control_plane.app import create_control
from bbops_server.control_plane.web.state import ControlState
from bbops_server.process.messages.builds import WrittenContract, WrittenOutline
from bbops_server.process.messages.lifecycle import MetricSample
from bbops_server.publish.processes.project_client import ProjectClient
from bbops_server.settings import Settings
from tests.support.data_process import process_client
from tests.support.outlines import Source, read_text, render
from tests.support.small_project import FILES

URL = "http://127.0.0.1:8001"
SINCE = datetime(2026, 1, 2, tzinfo=UTC)

CONTRACT = WrittenContract(
    render_json(
        Contract(
            1, "c" * 64, "small", "", "", (), None, {}, (), (Page("guide", "# Guide"),)
        )
    ),
    "application/json", "c" * 64,
)  # fmt: skip
FOUND = JsonDiagnostic("warning", "x", "a.yaml", 1, 2, "odd")


class OneProject:
    def __init__(self) -> None:
        self.asked: list[str] = []
        self.is_wrong = False
        self.folder: Path | None = None
        self.status_changes: dict[str, Any] = {}
        self.draft_changes: dict[str, Any] = {}
        self.publications: list[Publication] = []
        self.files: Source = FILES
        self.draft_files: Source = FILES
        self.values: frozenset[str] = frozenset()
        self.error: ServerError | None = None

    def server(self) -> ServerStatus:
        return ServerStatus("/srv/server.yaml", [FOUND] if self.is_wrong else [])

    def hooks(self) -> OneHook:
        return OneHook()

    def projects(self) -> list[Status]:
        ready = ProjectCondition(
            type="Ready", status=True, reason="Published", message="<b>r1</b> is live", since=SINCE
        )
        status = Status(
            "small", "http://127.0.0.1:8000", "main", "main@sha1:b", "main@sha1:a", "a", [ready],
            [FOUND], [],
        )  # fmt: skip
        return [msgspec.structs.replace(status, **self.status_changes)]

    def reconcile(self, name: str, *, again: bool = False) -> datetime | None:
        self.asked.append(f"{name} again" if again else name)
        return SINCE if name == "small" else None

    def accept(self, name: str, commit: str, base: str, who: str) -> bool:
        if commit != "b" * 7:
            raise ServerError(f"commit '{commit}' does not wait")
        self.asked.append(f"{name} {commit}")
        return name == "small"

    def history(self, name: str) -> Path | None:
        return self.folder / "history.sqlite" if self.folder and name == "small" else None

    def drafts(self, name: str) -> OneDraft | None:
        return OneDraft(self) if name == "small" else None

    def versions(self, name: str) -> OneHistory | None:
        return OneHistory(self.publications) if name == "small" else None

    def pulls(self, name: str) -> None:
        """Return None: the project has no forge."""

    def frontends(self, name: str) -> OneFrontend | None:
        return OneFrontend() if name == "small" else None

    async def weigh(self, name: str, tables: Any, env: Sequence[str]) -> dict[str, Any] | None:
        return {"hash": None, "waits": False, "changes": [], "env": []} if name == "small" else None

    def client(self, name: str) -> ProjectClient | None:
        return process_client() if name == "small" else None

    async def metrics(self) -> list[MetricSample]:
        return [MetricSample("jobs", {"work": "tasks/beat", "state": "dead"}, 2, "small")]

    async def contract(self, name: str, form: str) -> WrittenContract | None:
        return CONTRACT if name == "small" else None

    async def outline(self, name: str) -> WrittenOutline | None:
        self.asked.append(f"outline of {name}")
        if self.error is not None:
            raise self.error
        return render(self.files) if name == "small" else None

    async def read_file(self, name: str, path: str) -> str | None:
        return read_text(self.files, path) if name == "small" else None

    def find_values(self, name: str, variables: Sequence[str]) -> frozenset[str]:
        return self.values & {*variables}


class OneHook:
    def messages(self, limit: int) -> list[dict[str, Any]]:
        sent = {"id": "msg_1", "receiver": "https://chat.example.com/…", "event": "published"}
        tried = {"tries": 1, "outcome": "taken", "tried_at": None, "status": 204, "error": ""}
        return [{**sent, "project": "small", "at": SINCE, **tried}][:limit]

    async def test(self, wanted: str) -> list[dict[str, Any]]:
        return [{**self.messages(1)[0], "event": "ping"}]

    async def resend(self, wanted: str) -> dict[str, Any]:
        if wanted != "msg_1":
            raise ServerError(f"no such message '{wanted}'")
        return self.messages(1)[0]


class OneHistory:
    def __init__(self, known: list[Publication]) -> None:
        self._known = known

    def publications(self, limit: int) -> list[Publication]:
        return self._known[-limit:]

    def suspend(self, who: str, reason: str) -> None:
        pass

    def resume(self) -> bool:
        return False

    def exempt(self, who: str, account: str) -> str:
        raise ServerError("nothing is frozen")

    async def tags(self) -> list[dict[str, Any]]:
        return []

    async def restore(self, version: str, only: list[str], who: str) -> dict[str, Any]:
        raise ServerError(f"there is no version '{version}'")

    async def compare(self, old: str, new: str) -> dict[str, Any]:
        raise ServerError(f"there is no version '{old}'")

    async def locate(self, commit: str) -> CommitStatus:
        is_live = commit == "a" * 40
        return CommitStatus(commit, is_live, is_live, is_in_attempted=True)

    async def put(self, restored: Mapping[str, str]) -> None:
        pass

    def require_open(self, version: str) -> None:
        pass


class OneFrontend:
    async def list(self) -> list[dict[str, Any]]:
        return []

    async def live(self) -> None:
        return None

    async def publish(
        self, folder: Path, paths: Sequence[str], *, who: str, subject: str
    ) -> dict[str, Any]:
        raise ServerError("project.yaml names no frontend")


class OneDraft:
    def __init__(self, project: OneProject) -> None:
        self._project = project

    def list(self) -> list[DraftStatus]:
        status = DraftStatus(
            "topic", "slug", "b" * 40, "http://127.0.0.1:8000/~drafts/slug/", "asleep", None, "", []
        )
        return [msgspec.structs.replace(status, **self._project.draft_changes)]

    def find(self, name: str) -> DraftStatus | None:
        return self.list()[0] if name in {"slug", "topic"} else None

    def key(self, slug: str) -> bytes:
        return slug.encode()

    def url_of(self, branch: str) -> str:
        return f"http://127.0.0.1:8000/~drafts/{branch}/"

    def here(self, slug: str) -> tuple[str, str]:
        return f"http://127.0.0.1:8000/~drafts/{slug}", "127.0.0.1:8000"

    def history(self, slug: str) -> Path:
        return (self._project.folder or Path()) / "drafts" / slug / "history.sqlite"

    def refresh(self) -> None:
        pass

    def prepare(self, branch: str) -> None:
        pass

    def build(self, branch: str) -> bool:
        self._project.asked.append(f"draft {branch}")
        return branch == "topic"

    async def renew(self, slug: str) -> bool:
        return slug == "slug"

    def client(self, slug: str) -> ProjectClient:
        return process_client()

    async def contract(self, slug: str, form: str) -> WrittenContract:
        raise ServerError(f"'{slug}' has mistakes")

    async def outline(self, slug: str) -> WrittenOutline:
        return render(self._project.draft_files)

    async def read_file(self, slug: str, path: str) -> str | None:
        return read_text(self._project.draft_files, path)

    def find_values(self, variables: Sequence[str]) -> frozenset[str]:
        return frozenset()

    async def copy_rows(
        self, slug: str, tables: Sequence[str], *, limit: int, masked: Sequence[str]
    ) -> dict[str, int]:
        return {}


PASSWORD = "correct horse battery"
HASH = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
CSRF = re.compile(r'name="csrf" value="([0-9a-f]{64})"')


@cache
def _create() -> Litestar:
    return create_control(None)  # type: ignore[arg-type]


def _create_once(control: ControlState) -> Litestar:
    """Return the one application of all tests, which takes 0.1 s to make, with another state."""
    _create().state.control = control
    return _create()


class Tried:
    """A control plane and the people of it; close it."""

    def __init__(self, state: Path, **settings: Any) -> None:
        self.settings = Settings(state, **settings)
        self.source, self.book = OneProject(), Book.open(state)
        self.source.folder = state
        self.control = ControlState(self.source, self.book, lambda: self.settings, "bbl_local")
        self.control.rounds = 4
        self.app = _create_once(self.control)
        self._runner = asyncio.Runner()

    def close(self) -> None:
        self._runner.close()
        self.book.close()

    def add(
        self, email: str, role: Role | None = None, *, project: Role | None = None
    ) -> Person:  # fmt: skip
        """Add somebody, with a role everywhere or in the project alone."""
        person = self.book.people.add(NewPerson(email, "Ada", "", HASH, role=role))
        if project is not None:
            self.book.members.set_role(person.id, project, "small")
        return person

    def browser(self, url: str = "", **headers: str) -> Browser:
        return Browser(self, url or self.settings.control_url, headers)

    def as_person(self, email: str) -> Browser:
        """Return the browser of somebody who is signed in."""
        person = self.book.people.get(email)
        assert person is not None
        browser = self.browser()
        key = self.book.sessions.begin(person.id, user_agent="Test", address="192.0.2.9")
        browser.cookies.set("bbops", key)
        return browser

    def own_app(self) -> Litestar:
        """Return an application that nobody else uses."""
        self.app = create_control(self.control)
        return self.app

    def send(
        self, client: httpx.AsyncClient, method: str, path: str, **more: Any
    ) -> httpx.Response:
        return self._runner.run(client.request(method, path, **more))


class Browser:
    """Asks as a browser does: it keeps cookies, and sends each form with its page's token."""

    def __init__(self, tried: Tried, url: str, headers: dict[str, str]) -> None:
        transport = httpx.ASGITransport(tried.app, raise_app_exceptions=False)  # type: ignore[arg-type]
        self._tried, self.csrf = tried, ""
        self._client = httpx.AsyncClient(
            transport=transport, base_url=url, headers={"accept": "text/html"} | headers
        )

    @property
    def cookies(self) -> httpx.Cookies:
        return self._client.cookies

    def get(self, path: str, **more: Any) -> httpx.Response:
        answer = self._tried.send(self._client, "GET", path, **more)
        found = CSRF.search(answer.text)
        self.csrf = found[1] if found else self.csrf
        return answer

    def post(self, path: str, data: dict[str, Any] | None = None, **more: Any) -> httpx.Response:
        form = {"csrf": self.csrf} | (data or {})
        return self._tried.send(self._client, "POST", path, data=form, **more)

    def call(self, method: str, path: str, **more: Any) -> httpx.Response:
        return self._tried.send(self._client, method, path, **more)


@pytest.fixture
def tried(tmp_path: Path) -> Iterator[Tried]:
    """A control plane that has an owner: ada@example.com."""
    tried = Tried(tmp_path)
    tried.add("ada@example.com", Role.OWNER)
    yield tried
    tried.close()


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Tried]:
    """A control plane that nobody has an account on."""
    tried = Tried(tmp_path)
    yield tried
    tried.close()
