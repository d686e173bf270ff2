"""Types what a page says into terminals, as somebody does who has only read that page.

A terminal is a bash of its own with an empty home; `bbops` is not on its path. Blocks are typed
into the same one until the prose says "another terminal"; where it says Ctrl-C, that is pressed
where a server runs. What is shown of a server is looked for where it runs, once the page is done.
Nothing differs from the page but the ports.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from tests.support.patience import PATIENCE_SECONDS
from tests.support.ports import free_port
from tests.support.shell import commands, shows, shows_lines, without_blanks

PROMPT = "<ready>"
_ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|[=>])")
_SERVER = re.compile(r"bbops (serve|dev|demo)\b(?!.*--once)")
_ROWS, _COLUMNS = 50, 240


def parts(page: str) -> Iterator[tuple[str, str]]:
    """Yield each console block with the prose before it."""
    found = re.split(r"```console\n(.*?)```", page, flags=re.DOTALL)
    yield from zip(found[::2], found[1::2], strict=False)


class Terminal:
    """A new terminal in a folder."""

    def __init__(self, folder: Path, home: Path) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
        settings = termios.tcgetattr(theirs)
        settings[3] &= ~termios.ECHO  # only answers are read
        termios.tcsetattr(theirs, termios.TCSANOW, settings)
        self.process = subprocess.Popen(
            ["setsid", "-c", "bash", "--norc", "--noprofile", "--noediting", "-i"], cwd=folder,
            stdin=theirs, stdout=theirs, stderr=theirs, env=environment(home),
        )  # fmt: skip
        os.close(theirs)
        self.serves, self.expected = False, ""
        self._read(PROMPT, PATIENCE_SECONDS)

    def type(self, command: str, *, until: str = PROMPT, seconds: float = PATIENCE_SECONDS) -> str:
        """Type a command, and return what is shown until then."""
        os.write(self._ours, f"{command}\n".encode())
        return self._read(until, seconds)

    def wait_for_lines(self) -> None:
        """Wait until the server has printed what the page shows of it."""
        shown, end = "", time.monotonic() + PATIENCE_SECONDS
        while not shows_lines(self.expected, shown):
            assert time.monotonic() < end, f"{self.expected}\n{shown}"
            shown += self._some()

    def interrupt(self) -> None:
        """Press Ctrl-C, and wait for the prompt."""
        os.write(self._ours, b"\x03")
        self._read(PROMPT, PATIENCE_SECONDS)
        self.serves = False

    def close(self) -> None:
        """End what runs, and the shell."""
        if self.serves:
            self.interrupt()
        os.write(self._ours, b"exit\n")
        self.process.wait(PATIENCE_SECONDS)
        os.close(self._ours)

    def _read(self, until: str, seconds: float) -> str:
        shown, end = "", time.monotonic() + seconds
        while until not in shown:
            assert time.monotonic() < end, f"'{until}' is not shown:\n{shown}"
            shown = _ESCAPES.sub("", shown + self._some())
        return shown.partition(PROMPT)[0].removesuffix("(.venv) ")

    def _some(self) -> str:
        """Return what is shown next, if something soon is."""
        if not select.select([self._ours], [], [], 0.2)[0]:
            return ""
        text = os.read(self._ours, 65_536).decode(errors="replace")
        return _ESCAPES.sub("", text).replace("\r", "")


def environment(home: Path) -> dict[str, str]:
    """Return what a new user's shell knows: Python and the system's programs, nothing of ours."""
    tools = home.parent / "tools"
    if not tools.exists():
        tools.mkdir()
        (tools / "python3").symlink_to(Path(sys.executable).resolve())
    assert shutil.which("bbops", path=os.defpath) is None
    kept = {key: one for key, one in os.environ.items() if key.startswith(("PIP_", "SSL_"))}
    return kept | {
        "HOME": str(home), "PATH": f"{tools}:/usr/local/bin:/usr/bin:/bin", "TERM": "xterm",
        "LANG": "C.UTF-8", "PS1": PROMPT, "PS2": "", "GIT_CONFIG_NOSYSTEM": "1",
    }  # fmt: skip


class Newcomer:
    """Somebody with a page in front of them."""

    def __init__(self, folder: Path, home: Path) -> None:
        home.mkdir(exist_ok=True)
        self._folder, self._home = folder, home
        self._ports = {"8000": str(free_port()), "8001": str(free_port())}
        self._terminals = [Terminal(folder, home)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._terminals:
            one.close()

    def follow(self, page: str) -> None:
        """Do what a page says, and compare what is shown with what it shows."""
        for prose, block in parts(page):
            if "Ctrl-C" in prose:
                next(one for one in self._terminals if one.serves).interrupt()
            if "another terminal" in prose:
                self._terminals.append(Terminal(self._folder, self._home))
            for command, expected in commands(block):
                found = self.type(command, expected)
                matches = shows(without_blanks(expected), without_blanks(found))
                assert matches or not expected.strip(), f"$ {command}\n{found}"
                assert "command not found" not in found, f"$ {command}\n{found}"
        for one in self._terminals:
            one.wait_for_lines()

    def type(self, command: str, expected: str = "") -> str:
        """Type one command in the newest terminal; of a server, what it says until it is live."""
        terminal = self._terminals[-1]
        typed = command
        for written, port in self._ports.items():
            typed = typed.replace(written, port)
        if _SERVER.search(command):
            port = "" if "--port" in command else f" --port {self._ports['8000']}"
            terminal.serves = True
            typed = f"{typed}{port} --control-port {self._ports['8001']}"
            terminal.type(typed, until="\nlive ", seconds=600)
            terminal.expected = expected
            return expected
        found = terminal.type(typed)
        for written, port in self._ports.items():
            found = found.replace(port, written)
        return found
