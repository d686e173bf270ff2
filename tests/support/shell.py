"""Runs what a page of the documentation shows in its console, and compares what is printed.

A `…` stands for any text. `bbops serve`, `dev` and `demo` run beside the commands after them, and
on free ports in place of 8000 and 8001; the next one takes the place of the one before. What is
shown of a server are some of the lines that it prints until then, in their order.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import httpx

from tests.support.patience import PATIENCE_SECONDS, wait_for
from tests.support.ports import free_port


def console(text: str) -> list[str]:
    """Return the console blocks of a page."""
    found: list[str] = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    return found


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Yield (command, expected output); a here-document belongs to its command."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        is_document = "<< EOF" in part or "<< 'EOF'" in part
        end = part.find("\nEOF\n") + 4 if is_document else part.find("\n")
        yield part[:end], part[end + 1 :]


def wait_until_live(port: int, server: subprocess.Popen[str]) -> None:
    """Wait until a server is ready; fail if its process ends."""

    def is_live() -> bool:
        assert server.poll() is None, f"the server has ended with exit code {server.returncode}"
        ready = httpx.get(f"http://127.0.0.1:{port}/~ready", timeout=PATIENCE_SECONDS)
        return ready.status_code == httpx.codes.OK

    wait_for(is_live)


def shows(expected: str, found: str) -> bool:
    lines = [re.escape(line).replace("…", ".*") for line in expected.rstrip().splitlines()]
    pattern = "\n".join(lines).replace("\n.*\n", "\n(?:.*\n)*")
    pattern = re.sub(r"\n\.\*$", r"(?:\n.*)*", pattern)
    return re.fullmatch(pattern, found.rstrip()) is not None


def shows_lines(expected: str, found: str) -> bool:
    """Return whether the lines of `expected` are among those that were printed.

    In any order: a job may begin before the request that caused it is answered.
    """
    printed = found.splitlines()
    for line in expected.splitlines():
        at = next((at for at, one in enumerate(printed) if shows(line, one)), None)
        if at is None:
            return False
        del printed[at]
    return True


class Shell:
    """Runs commands in order in one folder; variables and `cd` carry over, as in a terminal."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port, self.control = folder, free_port(), free_port()
        self.server: subprocess.Popen[str] | None = None
        self.memory = folder.parent / "shell-state"
        self.expected = ""
        bin_folder = str(Path(sys.executable).parent)
        self.env = os.environ | {
            "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1",
            "GIT_AUTHOR_NAME": "ada", "GIT_AUTHOR_EMAIL": "ada@example.com",
            "GIT_COMMITTER_NAME": "ada", "GIT_COMMITTER_EMAIL": "ada@example.com",
        }  # fmt: skip

    def run(self, command: str, expected: str = "") -> str:
        """Run a command; of a server, `expected` is waited for before it ends."""
        command = command.replace("8000", str(self.port)).replace("8001", str(self.control))
        if re.match(r"bbops (serve|dev|demo)\b(?!.*--once)", command):
            assert self.stop() == 0
            self.serve(command)
            self.expected = expected
            return expected
        script = (
            f"[ -f {self.memory} ] && . {self.memory}\n{command}\ncode=$?\n"
            f"{{ echo cd \"'$PWD'\"; declare -p TOKEN 2>/dev/null; }} > {self.memory}; exit $code"
        )
        done = subprocess.run(
            ["bash", "-c", script], cwd=self.folder, env=self.env, text=True,
            timeout=PATIENCE_SECONDS,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        return done.stdout.replace(str(self.port), "8000").replace(str(self.control), "8001")

    def serve(self, command: str) -> None:
        script = (
            f"[ -f {self.memory} ] && . {self.memory}\nexec {command} --control-port {self.control}"
        )
        with self.printed.open("w") as printed:
            self.server = subprocess.Popen(
                ["bash", "-c", script], cwd=self.folder, env=self.env, text=True, stdout=printed
            )
        wait_until_live(self.port, self.server)

    @property
    def printed(self) -> Path:
        """What the server prints."""
        return self.folder.parent / "shell-server"

    def wait_for_lines(self) -> None:
        """Wait until the server has printed what the page shows of it."""
        try:
            wait_for(lambda: shows_lines(self.expected, self.printed.read_text()))
        except AssertionError:
            raise AssertionError(f"{self.expected}\n{self.printed.read_text()}") from None

    def stop(self) -> int:
        if self.server is None:
            return 0
        if self.expected:
            self.wait_for_lines()
        self.server.send_signal(signal.SIGTERM)
        return self.server.wait(PATIENCE_SECONDS)


def without_blanks(text: str) -> str:
    """Return text without the blanks at the ends of lines, which an editor takes out."""
    return re.sub(r" +$", "", text, flags=re.MULTILINE)


def squeezed(text: str) -> str:
    """Return text without the blanks that line up a table."""
    return re.sub(r" +", " ", without_blanks(text))


def try_console(
    blocks: list[str],
    tmp_path: Path,
    *,
    tidy: Callable[[str], str] = without_blanks,
    env: Mapping[str, str] | None = None,
) -> None:
    """Run console blocks in a new folder; a server that one of them starts has to end well.

    Args:
        tidy: takes out of what is shown and what is printed what does not count.
        env: variables that the commands have besides.
    """
    assert blocks
    folder = tmp_path / "console"
    folder.mkdir()
    shell = Shell(folder)
    shell.env |= {
        "BBOPS_SERVER": f"http://127.0.0.1:{shell.control}", "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path / "config"), "GIT_TERMINAL_PROMPT": "0", **(env or {}),
    }  # fmt: skip
    try:
        for command, expected in (one for block in blocks for one in commands(block)):
            found = shell.run(command, expected)
            matches = not expected.strip() or shows(tidy(expected), tidy(found))
            assert matches, f"$ {command}\n{found}"
    except BaseException:
        shell.expected = ""
        shell.stop()
        raise
    assert shell.stop() == 0
