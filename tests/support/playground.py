"""A server within this process, and the browsers of its people at the Playground."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx

from bbops_server.control_plane.app import create_control
from tests.support.agents_at_server import House
from tests.support.checkouts import make_repository
from tests.support.control import CSRF
from tests.support.small_project import FILES

USERS = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  email: { type: string, unique: true }
  role: { type: string, default: guest }
seed:
  - { id: 7, email: ada@example.com, role: admin }
"""
COMMENTS = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  user_id: { type: integer, references: users.id }
  title: { type: string }
  note: { type: string, private: true, default: "" }
seed:
  - { id: 3, user_id: 7, title: "<b>First</b>" }
  - { id: 4, user_id: 7, title: Second }
"""
COMMENT = """
input:
  user_id: integer
  title: string
steps:
  - insert: { table: comments, data: { user_id: '${ input.user_id }', title: '${ input.title }' } }
    as: comment
  - return: { status: 201, value: "${ vars.comment | omit('note') }" }
"""
READ_COMMENT = """
params:
  id: integer
steps:
  - find: { table: comments, where: id == params.id, select: [id, title], one: true }
    as: comment
  - return: { value: '${ vars.comment }' }
"""
ECHO = """
input:
  text: string
  password?: string
steps:
  - return: { value: { texts: [TEXTS] } }
""".replace("TEXTS", ", ".join(["'${ input.text }'"] * 10))
LOGIN = """
input:
  email: string
  password: string
steps:
  - find: { table: users, where: email == input.email, one: true }
    as: user
  - if: input.password == 'odd'
    then:
      - return: { value: { token: "a\\nb" } }
  - if: vars.user == null or input.password != 'correct'
    then:
      - throw: { status: 401, message: Wrong email or password }
  - generateAuthToken: { userId: '${ vars.user.id }' }
    as: token
  - return: { value: { token: '${ vars.token }' } }
"""
ME = "steps:\n  - return: { value: { user: '${ vars.auth.userId }' } }\n"
MEAN = "</pre><script>alert(1)</script><img src=x onerror=alert(2)>"


def endpoint(method: str, path: str, function: str, more: str = "") -> str:
    """Return the text of an endpoint."""
    return (
        f"method: {method}\npath: {path}\nfunction: {function}\ndescription: '{MEAN}'\n"
        f"{more or 'authentication: None'}\n"
    )


PROJECT = {
    "project.yaml": FILES["project.yaml"]
    + "auth: { users: users, signingKey: '${ env.SECRET }' }\nsession: { login: login }\n",
    "tables/users.yaml": USERS,
    "tables/comments.yaml": COMMENTS,
    "functions/comment.yaml": COMMENT,
    "functions/read-comment.yaml": READ_COMMENT,
    "functions/count-users.yaml": "steps:\n  - find: { table: users, select: [id] }\n    as: all\n",
    "functions/login.yaml": LOGIN,
    "functions/me.yaml": ME,
    "functions/echo.yaml": ECHO,
    "functions/away.yaml": "steps:\n  - return: { status: 302, value: {},"
    " headers: { location: 'http://127.0.0.1:1/' } }\n",
    "functions/mean.yaml": f"steps:\n  - return: {{ value: {{ html: '{MEAN}' }} }}\n",
    "functions/fails.yaml": "steps:\n  - return: { value: \"${ 'gP8A' | base64Decode }\" }\n",
    "endpoints/comment.yaml": endpoint("POST", "/comments", "comment"),
    "endpoints/read-comment.yaml": endpoint(
        "GET", "/comments/:id", "read-comment", "authentication: None\nmiddleware: [count-users]"
    ),
    "tests/read-comment.yaml": "endpoint: read-comment\ncases:\n"
    "  - { name: no comment, params: { id: 1 }, expect: { status: 200 } }\n",
    "endpoints/login.yaml": endpoint("POST", "/login", "login"),
    "endpoints/me.yaml": endpoint("GET", "/me", "me", "authentication: JWT"),
    "endpoints/quiet.yaml": endpoint(
        "GET", "/quiet", "hello", "authentication: None\nhistory: 'off'"
    ),
    "endpoints/echo.yaml": endpoint("POST", "/echo", "echo"),
    "endpoints/away.yaml": endpoint("GET", "/away", "away"),
    "endpoints/mean.yaml": endpoint("GET", "/mean", "mean"),
    "endpoints/fails.yaml": endpoint("GET", "/fails", "fails"),
    "endpoints/secret.yaml": endpoint(
        "GET", "/secret/:token", "hello", "authentication: None\ndocsVisibility: hidden"
    ),
}
TWO = (
    "projects:\n  shop: { repository: ./shop, pathPrefix: /shop }\n"
    "  other: { repository: ./other, pathPrefix: /other }\n"
)


def make_house(folder: Path) -> House:
    """Return a server of two projects; the first one has the draft `topic`."""
    for name in ("shop", "other"):
        make_repository(folder / name, PROJECT)
    return House(folder, TWO)


class PlaygroundBrowser:
    """The browser of a user; it keeps its cookie, and sends the token of its pages."""

    def __init__(self, house: House, name: str) -> None:
        self._house = house
        app: Any = create_control(house.control)
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        url = house.plane.settings.control_url
        self.client = httpx.AsyncClient(transport=transport, base_url=url)
        if name:
            key = house.book.sessions.begin(
                house.people[name], user_agent="Test", address="192.0.2.9"
            )
            self.client.cookies.set("bbops", key)
        self.csrf = self._find_csrf() if name else ""

    def _find_csrf(self) -> str:
        found = CSRF.search(self.get("/account").text)
        assert found is not None
        return found[1]

    def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Send a request to the control plane."""
        return self._house.run(self.client.request(method, path, **more))

    def get(self, path: str) -> httpx.Response:
        """Open a page."""
        return self.request("GET", path, headers={"accept": "text/html"})

    def call(self, where: str, **body: Any) -> httpx.Response:
        """Call the API of the project `shop`, or of a path that begins with a slash."""
        url = where if where.startswith("/") else f"/api/projects/shop/{where}"
        return self.request("POST", url, json=body, headers={"x-csrf-token": self.csrf})

    def send(self, endpoint: str, *, draft: str = "", **body: Any) -> httpx.Response:
        """Send a request by the API, to live or to a draft."""
        where = f"drafts/{draft}/playground" if draft else "playground"
        return self.call(where, endpoint=endpoint, **body)

    def submit(self, path: str, /, **fields: Any) -> httpx.Response:
        """Submit the form of a page."""
        data = {name.replace("__", ":"): (None, value) for name, value in fields.items()}
        headers = {"accept": "text/html"}
        files = {"csrf": (None, self.csrf), **data}
        return self.request("POST", path, files=files, headers=headers)


def read_text(page: httpx.Response) -> str:
    """Return the text of a page without its tags."""
    return re.sub(r"<[^>]+>", " ", page.text)
