"""README.md is executed: every console block runs, and prints what it shows.

A `…` stands for any text. `bbops serve` and `bbops demo` run beside the commands after them, and
on a free port in place of 8000. The two set-up commands run in a fresh copy: marker `install`.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.conftest import ROOT

README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
SETUP = [block for block in BLOCKS if "pip install" in block]
TOUR = [block for block in BLOCKS if "pip install" not in block]


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Yield (command, expected output); a here-document belongs to its command."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        end = part.find("\nEOF\n") + 4 if "<< EOF" in part else part.find("\n")
        yield part[:end], part[end + 1 :]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def wait_until_live(port: int) -> None:
    for _ in range(200):
        try:
            if httpx.get(f"http://127.0.0.1:{port}/~ready").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    raise AssertionError("the server does not become ready")


def shows(expected: str, found: str) -> bool:
    lines = [re.escape(line).replace("…", ".*") for line in expected.rstrip().splitlines()]
    pattern = "\n".join(lines).replace("\n.*\n", "\n(?:.*\n)*")
    pattern = re.sub(r"\n\.\*$", r"(?:\n.*)*", pattern)
    return re.fullmatch(pattern, found.rstrip()) is not None


class Shell:
    """Runs commands in order in one folder; variables and `cd` carry over, as in a terminal."""

    def __init__(self, folder: Path, port: int, control: int) -> None:
        self.folder, self.port, self.control = folder, port, control
        self.server: subprocess.Popen[str] | None = None
        self.memory = folder.parent / "shell-state"
        bin_folder = str(Path(sys.executable).parent)
        self.env = os.environ | {
            "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1",
            "GIT_AUTHOR_NAME": "ada", "GIT_AUTHOR_EMAIL": "ada@example.com",
            "GIT_COMMITTER_NAME": "ada", "GIT_COMMITTER_EMAIL": "ada@example.com",
        }  # fmt: skip

    def run(self, command: str) -> str:
        command = command.replace("8000", str(self.port))
        if re.match(r"bbops (serve|demo)\b(?!.*--once)", command):
            self.serve(command)
            return ""
        script = (
            f"[ -f {self.memory} ] && . {self.memory}\n{command}\ncode=$?\n"
            f"{{ echo cd \"'$PWD'\"; declare -p TOKEN 2>/dev/null; }} > {self.memory}; exit $code"
        )
        done = subprocess.run(
            ["bash", "-c", script], cwd=self.folder, env=self.env, text=True, timeout=60,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        return done.stdout

    def serve(self, command: str) -> None:
        script = (
            f"[ -f {self.memory} ] && . {self.memory}\nexec {command} --control-port {self.control}"
        )
        self.server = subprocess.Popen(
            ["bash", "-c", script], cwd=self.folder, env=self.env, text=True,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        wait_until_live(self.port)

    def stop(self) -> int:
        if self.server is None:
            return 0
        self.server.send_signal(signal.SIGTERM)
        return self.server.wait(20)


def run_blocks(
    shell: Shell,
    blocks: list[str],
    tidy: Callable[[str], str],
    change: Callable[[str], str] = str,
) -> None:
    """Run every command, and compare what it prints with what the page shows.

    Args:
        tidy: takes out of both texts what does not count.
        change: makes a command of the page fit this machine.
    """
    for block in blocks:
        for command, expected in commands(block):
            found = shell.run(change(command))
            matches = not expected.strip() or shows(tidy(expected), tidy(found))
            assert matches, f"$ {command}\n{found}"


def test_every_block_of_the_tour_prints_what_it_shows(tmp_path: Path) -> None:
    folder = tmp_path / "tour"
    folder.mkdir()
    shell = Shell(folder, free_port(), free_port())
    try:
        run_blocks(shell, TOUR, str)
    except BaseException:
        shell.stop()
        raise
    assert shell.stop() == 0


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
