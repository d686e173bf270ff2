"""The whole story of a project, told by doing it: real git, a real server, real requests."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import IO, Any

import click

from bbops.base.console import say
from bbops.base.errors import ServerError
from bbops.interfaces.answers import ApiResponse
from bbops.interfaces.cli.init import MESSAGE, template_files
from bbops.interfaces.client.connection import ProjectApi
from bbops.source.git.store import commit, init

ADA = {"email": "ada@example.com", "password": "correct horse", "name": "Ada"}
LIST = "functions/notes/list.yaml"


class Story:
    """Prints each step as it happens, numbered."""

    def __init__(self) -> None:
        self.number = 0

    def step(self, title: str) -> None:
        """Begin a step."""
        self.number += 1
        say(click.style(f"{self.number:>2}  {title}", bold=True))

    def show(self, text: str) -> None:
        """Print what a step did."""
        for line in text.splitlines():
            say(f"    {line}")

    def request(self, method: str, path: str, reply: ApiResponse) -> None:
        """Print a request and its answer."""
        shown = json.dumps(brief(reply.value), ensure_ascii=False) if reply.value else ""
        status = click.style(str(reply.status), fg="green" if reply.status < 400 else "red")
        self.show(f"{method} {path} → {status} {shown}".rstrip())


def tell(folder: Path) -> None:
    """Tell the story with a project in `folder`, which must not exist.

    Raises:
        ServerError: something did not happen as it should.
    """
    story, began = Story(), perf_counter()
    story.step("make a project: a git repository of YAML files")
    init(folder, template_files("my-backend"), message=MESSAGE)
    story.show(f"bbops init {folder.name}")
    with serving(folder) as events:
        story.step("serve it")
        story.show("bbops serve")
        url = next(events)
        live = expect(next(events), "live")
        story.show(f"{live['release']} is live at {url['url']} after {live['milliseconds']:.0f} ms")
        api = ProjectApi(url["url"])
        try:
            note = use(story, api)
            change(story, api, folder, events, note)
            mistake(story, api, folder, events, note)
        finally:
            api.close()
    say(click.style(f"\nall of it took {perf_counter() - began:.1f} s", dim=True))
    say("your turn: bbops init my-backend")


def use(story: Story, api: ProjectApi) -> str:
    """Sign up, sign in, write and list; return the token."""
    story.step("sign up and sign in")
    path = "/api/auth/register"
    story.request("POST", path, must(api.ask("POST", path, ADA), 201))
    path, credentials = "/api/auth/login", {key: ADA[key] for key in ("email", "password")}
    login = must(api.ask("POST", path, credentials), 200)
    story.request("POST", path, login)
    token: str = login.value["token"]
    story.step("write a note and list it; without the token it is 401")
    path = "/api/v1/notes"
    story.request(
        "POST", path, must(api.ask("POST", path, {"title": "Buy milk"}, token=token), 201)
    )
    story.request("GET", path, must(api.ask("GET", path, token=token), 200))
    story.request("GET", path, must(api.ask("GET", path), 401))
    return token


def change(
    story: Story, api: ProjectApi, folder: Path, events: Iterator[dict[str, Any]], token: str
) -> None:
    """Change a file, commit, and see it live."""
    story.step("change a file and commit")
    before = "page: ${ query.page }"
    edit(folder / LIST, before, f"{before}\n        owner: ${{ vars.me.name }}")
    committed = perf_counter()
    commit(folder, "Name the owner of the list")
    live = expect(next(events), "live")
    took = 1000 * (perf_counter() - committed)
    story.show(f"{LIST}: + owner: ${{ vars.me.name }}")
    story.show(f"{live['release']} is live {took:.0f} ms after the commit began")
    reply = must(api.ask("GET", "/api/v1/notes", token=token), 200)
    if reply.value.get("owner") != "Ada":
        raise ServerError("the change is not live")
    story.request("GET", "/api/v1/notes", reply)


def mistake(
    story: Story, api: ProjectApi, folder: Path, events: Iterator[dict[str, Any]], token: str
) -> None:
    """Commit a mistake: the old release keeps serving, and the server prints the error."""
    story.step("commit a mistake: the last good release keeps serving")
    edit(folder / LIST, "vars.me.name", "vars.me.nam")
    commit(folder, "Break the list")
    refused = expect(next(events), "stalled")
    for error in refused["diagnostics"]:
        place = f"{error['file']}:{error['line']}:{error['column']}"
        story.show(f"{place}: {error['severity']}: {error['message']} [{error['code']}]")
        story.show(f"    hint: {error['hint']}")
    reply = must(api.ask("GET", "/api/v1/notes", token=token), 200)
    story.request("GET", "/api/v1/notes", reply)
    story.step("mend it")
    edit(folder / LIST, "vars.me.nam }", "vars.me.name }")
    commit(folder, "Fix the list")
    live = expect(next(events), "live")
    story.show(f"{live['release']} is live")


def brief(value: Any) -> Any:
    """Return JSON with its long texts cut, such as tokens and ids."""
    if isinstance(value, dict):
        return {key: brief(item) for key, item in value.items()}
    if isinstance(value, list):
        return [brief(item) for item in value]
    return value if not isinstance(value, str) or len(value) <= 20 else f"{value[:8]}…"


def edit(path: Path, old: str, new: str) -> None:
    """Replace a text in a file of the project."""
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(old, new), encoding="utf-8")


def must(reply: ApiResponse, status: int) -> ApiResponse:
    """Return the reply, if it has the status the story needs."""
    if reply.status != status:
        raise ServerError(f"expected {status}, got {reply.status}: {reply.value}")
    return reply


def expect(event: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return the event, if it is of the kind the story needs."""
    if event["event"] != kind:
        raise ServerError(f"expected '{kind}', got {json.dumps(event)}")
    return event


@contextmanager
def serving(folder: Path) -> Iterator[Iterator[dict[str, Any]]]:
    """Serve the project in a process of its own, on free ports; yield its events."""
    arguments = ["serve", str(folder), "--port", "0", "--control-port", "0", "--json"]
    process = subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-P", "-m", "bbops", *arguments], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    try:
        yield read_events(process.stdout)
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


def read_events(lines: IO[str]) -> Iterator[dict[str, Any]]:
    """Yield the server's events as they come.

    Raises:
        ServerError: the server ended.
    """
    for line in lines:
        yield json.loads(line)
    raise ServerError("the server ended", hint="'bbops serve' says why")
