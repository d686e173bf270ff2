"""`bbops dev`: a line for each request, settings of its own, and a page where there is none."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bbops_server.commands._report import Terminal
from bbops_server.data_plane.live.directory import Directory
from bbops_server.data_plane.live.request_lines import MOST_WAITING, RequestLines
from bbops_server.data_plane.live.swap import Live
from bbops_server.process.host.log import JsonLog
from bbops_server.process.host.system import SystemClock, SystemRandom
from bbops_server.process.messages.channel import ProcessChannel
from bbops_server.process.messages.reports import RequestAnswered
from tests.support.patience import wait_for
from tests.support.served import ADA, Served, environment, make_project
from tests.support.small_project import endpoint, write_project

HTML = {"accept": "text/html"}
SECRET = "a-secret-that-nobody-prints"
FAILS = "steps:\n  - set: { one: '${ 1 / query.by }' }\n  - return: { value: '${ vars.one }' }\n"
THROWS = "steps:\n  - throw: { status: 409, message: no }\n"


class Dev(Served):
    """A `bbops dev` on a folder."""

    verb = "dev"

    def request(self) -> dict[str, Any]:
        """Return the next request that was answered; other events are passed over."""
        while (found := self.events.get(timeout=30))["event"] != "request":
            assert found["event"] != "ended"
        return found

    def save(self, file: str, text: str) -> None:
        """Save a file as an editor does, and wait until that is served or refused."""
        (self.home / "saved").write_text(text)
        (self.home / "saved").replace(self.repository / file)
        while self.events.get(timeout=30)["event"] not in {"live", "stalled"}:
            pass


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    folder = tmp_path_factory.mktemp("dev")
    shop = make_project(folder / "shop")
    (shop / "functions/fails.yaml").write_text(f"query: {{ by: integer }}\n{FAILS}")
    (shop / "functions/throws.yaml").write_text(THROWS)
    (shop / "endpoints/fails.yaml").write_text(endpoint("GET", "/fails", "fails"))
    (shop / "endpoints/throws.yaml").write_text(endpoint("GET", "/reset/:resetToken", "throws"))
    (folder / "my.yaml").write_text("egress: { allow: [127.0.0.1] }\n")
    with Dev(shop, folder / "home", "--settings", str(folder / "my.yaml")) as server:
        server.live()
        yield server


# ---- a line for each request
def test_a_request_is_an_event_without_its_query(dev: Dev) -> None:
    dev.api.get("/api/me", params={"token": SECRET}, headers={"authorization": f"Bearer {SECRET}"})
    told = dev.request()
    assert SECRET not in json.dumps(told)
    assert told.pop("milliseconds") > 0
    assert told == {
        "event": "request", "method": "GET", "path": "/api/me", "status": 401,
        "code": "unauthorized", "at": "", "missed": 0,
    }  # fmt: skip


def test_an_error_tells_its_code_and_the_line_of_its_step(dev: Dev) -> None:
    dev.api.get(f"/reset/{SECRET}")
    told = dev.request()
    assert (told["path"], told["status"]) == ("/reset/***", 409)
    assert (told["code"], told["at"]) == ("conflict", "functions/throws.yaml:2")
    dev.api.get("/fails", params={"by": 0})
    told = dev.request()
    assert (told["status"], told["at"]) == (400, "functions/fails.yaml:3")
    dev.api.get("/fails", params={"by": "x"})
    assert dev.request()["code"] == "invalidInput"


def test_what_no_route_answers_is_told_without_secrets(dev: Dev) -> None:
    token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl"
    dev.api.get(f"/nothing/{token}")
    told = dev.request()
    assert (told["path"], told["status"], told["code"]) == ("/nothing/***", 404, "notFound")
    dev.api.post(f"/reset/{SECRET}", json=ADA)
    assert dev.request()["path"] == "/reset/***"


def test_what_is_saved_with_a_mistake_answers_503_and_is_told(dev: Dev) -> None:
    dev.save("functions/throws.yaml", THROWS.replace("throw", "thrwo"))
    try:
        wait_for(lambda: dev.api.get(f"/reset/{SECRET}").status_code == 503)
        told = wait_for(lambda: (found := dev.request())["status"] == 503 and found)
        assert told["path"] == "/reset/***"
    finally:
        dev.save("functions/throws.yaml", THROWS)


# ---- the page
def test_a_project_without_a_page_shows_where_everything_is(dev: Dev) -> None:
    answer = dev.api.get("/", headers=HTML)
    assert answer.status_code == 200
    control = dev.serving["control_url"]
    assert f'href="{control}/projects/sample/reference"' in answer.text
    assert f'href="{control}"' in answer.text
    assert '<a href="./api/v1/notes">' in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert not re.search(r"<script|src=|@import|url\(", answer.text)
    assert dev.control.get("/projects/sample/reference", headers=HTML).status_code == 200
    assert dev.request()["path"] == "/"


def test_programs_and_other_paths_are_answered_as_ever(dev: Dev) -> None:
    for path, headers in (("/", {}), ("/nothing", HTML)):
        answer = dev.api.get(path, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "notFound")
        dev.request()
    assert dev.api.post("/", headers=HTML).status_code == 404
    dev.request()
    head = dev.api.head("/", headers=HTML)
    assert (head.status_code, head.content) == (200, b"")
    dev.request()


def test_a_route_takes_the_place_of_the_page(dev: Dev) -> None:
    dev.save("functions/start.yaml", "steps: [{ return: { value: here } }]\n")
    dev.save("endpoints/start.yaml", endpoint("GET", "/", "start"))
    assert dev.api.get("/", headers=HTML).json() == "here"
    dev.request()


@pytest.mark.long
def test_what_is_live_for_everybody_answers_404(tmp_path: Path) -> None:
    with Served(make_project(tmp_path / "sample"), tmp_path / "home") as server:
        server.live()
        answer = server.api.get("/", headers=HTML)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "notFound")


# ---- on a terminal, and its settings
def run_dev(folder: Path, *arguments: str, env: dict[str, str]) -> str:
    """Run `bbops dev` on a terminal until a request is told; return what the terminal shows."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "bbops", "dev", str(folder), "--port", "0",
         "--control-port", "0", *arguments],
        stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=env, cwd=folder,
    )  # fmt: skip
    os.close(theirs)
    shown = bytearray()
    try:
        _read_until(ours, shown, rb"live\b.*\n")
        (url,) = re.findall(rb"(http://127\.0\.0\.1:\d+) is the API", shown)
        subprocess.run(["curl", "-s", f"{url.decode()}/api/me?x=1"], check=True, timeout=10)
        _read_until(ours, shown, rb"GET\b.*\n")
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)
        os.close(ours)
    return shown.decode()


def _read_until(terminal: int, shown: bytearray, pattern: bytes) -> None:
    def look() -> bool:
        if select.select([terminal], [], [], 0.1)[0]:
            shown.extend(os.read(terminal, 65_536))
        return re.search(pattern, shown) is not None

    wait_for(look)


@pytest.mark.long
def test_a_terminal_shows_a_line_with_colour_unless_it_is_refused(tmp_path: Path) -> None:
    folder = write_project(tmp_path / "small")
    plain = environment(tmp_path) | {"TERM": "xterm"}
    line = r"GET      /api/me  404  in \d+\.\d ms  notFound\r\n"
    assert re.search(line, run_dev(folder, env=plain))
    coloured = run_dev(folder, env=plain | {"NO_COLOR": ""})
    assert "\x1b[33m404\x1b[0m" in coloured


@pytest.mark.long
@pytest.mark.parametrize("line", ["database: postgres://localhost/x", "drafts: { most: 1 }"])
def test_settings_that_would_do_nothing_are_refused(tmp_path: Path, line: str) -> None:
    folder = write_project(tmp_path / "small")
    (tmp_path / "my.yaml").write_text(f"{line}\n")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "bbops", "dev", str(folder), "--settings", "my.yaml"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=30,
        env=environment(tmp_path),
    )  # fmt: skip
    assert done.returncode == 2
    assert f"'{line.partition(':')[0]}' is a setting of 'bbops serve' only" in done.stderr


# ---- a terminal that reads too slowly
def test_what_nobody_reads_is_counted_and_not_kept() -> None:
    async def run() -> tuple[int, int]:
        ours, theirs = socket.socketpair()
        with theirs:
            channel = await ProcessChannel.open(ours)
            lines = RequestLines(_answer, Directory(_no_project), channel)
            for _ in range(20_000):
                await lines({"type": "http", "method": "GET", "path": "/"}, None, _send)
            return channel.waiting, lines._missed

    waiting, missed = asyncio.run(run())
    assert 0 < waiting <= MOST_WAITING
    assert missed > 1_000


def test_a_terminal_says_how_many_are_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    Terminal(mode="dev")("", RequestAnswered("GET", "/a\n\x1b[2J", 0, 1.0, missed=3))
    assert capsys.readouterr().out == (
        "         3 requests not shown\nGET      /a\\n\\x1b[2J  -  in 1.0 ms\n"
    )


async def _answer(scope: Any, receive: Any, send: Any) -> None:
    await asyncio.sleep(0)
    await send({"type": "http.response.start", "status": 200, "headers": []})


async def _send(message: Any) -> None:
    pass


def _no_project() -> Live:
    return Live(clock=SystemClock(), random=SystemRandom(), log=JsonLog())
