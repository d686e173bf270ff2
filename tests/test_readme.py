"""README.md is executed: every console block runs, and prints what it shows.

The two set-up commands run in a fresh copy: marker `install`.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import httpx
import pytest

from tests.conftest import ROOT
from tests.shell import commands, console, free_port, try_console

README = (ROOT / "README.md").read_text()
BLOCKS = console(README)
SETUP = [block for block in BLOCKS if "pip install" in block]
TOUR = [block for block in BLOCKS if "pip install" not in block]


def test_every_block_of_the_tour_prints_what_it_shows(tmp_path: Path) -> None:
    try_console(TOUR, tmp_path, tidy=str)


def test_the_set_up_is_two_commands() -> None:
    assert [len(list(commands(block))) for block in SETUP] == [1, 1]


def copy_of_the_repository(to: Path) -> Path:
    files = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    for file in filter(None, files):
        if (ROOT / file).is_file():
            (to / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, to / file)
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=to, check=True)
    subprocess.run(["git", "add", "-A"], cwd=to, check=True)
    return to


@pytest.mark.install
def test_the_first_command_ends_with_a_running_server(tmp_path: Path) -> None:
    ((command, _),) = commands(SETUP[0])
    port, control = free_port(), free_port()
    log = (tmp_path / "log").open("w+")
    server = subprocess.Popen(
        ["bash", "-c", f"{command} --port {port} --control-port {control}"],
        cwd=copy_of_the_repository(tmp_path / "fresh"), stdout=log, stderr=log, text=True,
        env=os.environ | {"NO_COLOR": "1"}, start_new_session=True,
    )  # fmt: skip
    try:
        until = time.monotonic() + 400
        while f"127.0.0.1:{port}/api/auth/register" not in (tmp_path / "log").read_text():
            assert server.poll() is None, (tmp_path / "log").read_text()
            assert time.monotonic() < until, (tmp_path / "log").read_text()
            time.sleep(0.5)
        ada = {"email": "ada@example.com", "password": "correct horse", "name": "Ada"}
        reply = httpx.post(f"http://127.0.0.1:{port}/api/auth/register", json=ada)
        assert reply.status_code == 201
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(30)
        log.close()
    once = tmp_path / "fresh/.venv/bin/bbops"
    told = subprocess.run([once, "demo", "--once"], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout + told.stderr
    assert "did you mean 'name'?" in told.stdout
