"""docs/realtime.md is executed: its console, and its program for JavaScript."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from bbops.source.git import store
from tests.conformance import npm
from tests.conftest import ROOT
from tests.support.served import Served
from tests.support.shell import console, try_console
from tests.support.small_project import endpoint

pytestmark = pytest.mark.long
PAGE = ROOT / "docs/realtime.md"
BOARD = """
topic: boards/:id
authentication: None
events:
  note.added: { title: string }
"""
ADD = """
params: { id: integer }
input: { title: string }
steps:
  - publish: { realtime: board, params: { id: "${ params.id }" }, event: note.added,
               payload: { title: "${ input.title }" } }
"""


def test_every_console_block_prints_what_it_shows(tmp_path: Path) -> None:
    try_console(console(PAGE.read_text()), tmp_path)


def test_the_program_for_javascript_prints_what_is_published(tmp_path: Path) -> None:
    files = {
        "project.yaml": "bbops: 1\nname: boards\n", "realtime/board.yaml": BOARD,
        "functions/add.yaml": ADD,
        "endpoints/add.yaml": endpoint("POST", "/boards/:id/notes", "add"),
    }  # fmt: skip
    given = {name: text.encode() for name, text in files.items()}
    store.init(tmp_path / "boards", given, message="Start")
    (program,) = re.findall(r"```js\n(.*?)```", PAGE.read_text(), re.DOTALL)
    script = npm.folder() / "page.mjs"
    with Served(tmp_path / "boards", tmp_path / "home") as served:
        served.live()
        address = served.serving["url"].removeprefix("http://")
        text = "import WebSocket from 'ws'\nglobalThis.WebSocket = WebSocket\n" + program.replace(
            "localhost:8000", address
        )
        waits = "board.on('subscribed', () => console.log('ready'))\n"
        script.write_text(text.replace("board.subscribe()", f"{waits}board.subscribe()"))
        command = [str(npm.NODE), str(script)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
            assert running.stdout is not None
            assert running.stdout.readline() == "ready\n"
            answer = served.api.post("/boards/7/notes", json={"title": "hello"})
            assert answer.status_code == 200
            assert running.stdout.readline() == "note.added hello\n"
            running.kill()
