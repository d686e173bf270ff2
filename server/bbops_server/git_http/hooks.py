"""The hooks of a push: files that git runs, and the socket on which they ask this process.

No repository is changed: git finds the hooks by its environment.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bbops.base.errors import BbopsError
from bbops_server.accounts.keys import make_id
from bbops_server.git_http.backend import Refusal

SCRIPT: Final = Path(__file__).with_name("hook.py")
MOST_BYTES: Final = 1 << 20
"""The limit of a hook's input: some 7,000 refs."""

_LONGEST_SOCKET: Final = 100  # of 104 bytes on macOS, 108 on Linux
_ASKING: Final = '#!/bin/sh\nexec "$BBOPS_PYTHON" -ISE "$BBOPS_HOOK" {name}\n'
_FILES: Final = {
    name: _ASKING.format(name=name) for name in ("pre-receive", "proc-receive", "post-receive")
}
_NOT_ASKED: Final = "the server could not check this push; see its log"

_log = logging.getLogger(__name__)

Say = Callable[[str], Awaitable[None]]
"""Prints one or more lines in the terminal of the pusher."""


@dataclass(frozen=True, slots=True)
class HookInput:
    """The input of a hook: its name, and one line for each ref, `old new ref`.

    Attributes:
        quarantine: the folder of the objects of the push, before it is accepted.
        options: the options of `git push -o`.
    """

    hook: str
    quarantine: str
    options: tuple[str, ...]
    lines: tuple[str, ...]


Answer = Callable[[HookInput, Say], Awaitable[bool]]


class Hooks:
    """Answers the hooks of the pushes under way."""

    def __init__(self, folder: Path) -> None:
        """`folder` belongs to this server, and is created on demand."""
        self._folder = folder
        self._answers: dict[str, Answer] = {}
        self._tasks: dict[str, set[asyncio.Task[None]]] = {}
        self._listening: asyncio.Server | None = None
        self._socket = folder / "socket"
        self._opening = asyncio.Lock()

    @property
    def setting(self) -> tuple[str, str]:
        """The git setting that enables them."""
        return "core.hooksPath", str(self._folder / "hooks")

    async def open(self) -> None:
        """Write the files and listen, unless both are in place.

        Git accepts every push if a hook is missing, so the files are checked for each push.

        Raises:
            Refusal: the state folder cannot be written.
        """
        async with self._opening:
            try:
                await asyncio.to_thread(_write, self._folder / "hooks")
                if self._listening is None or not self._socket.exists():
                    await self._listen()
            except OSError as error:
                _log.exception("the hooks of git cannot be made in '%s'", self._folder)
                reason = (error.strerror or "no reason given").lower()
                raise Refusal(500, f"the server cannot check a push now: {reason}") from None

    async def close(self) -> None:
        """Answer no more."""
        if self._listening is not None:
            self._listening.close()
            self._remove()

    @contextmanager
    def answering(self, answer: Answer) -> Iterator[dict[str, str]]:
        """Answer the hooks of one push while the block runs; yields what it has to know."""
        push = make_id() + make_id()
        self._answers[push], self._tasks[push] = answer, set()
        try:
            yield {
                "BBOPS_PUSH": push, "BBOPS_SOCKET": str(self._socket),
                "BBOPS_PYTHON": sys.executable, "BBOPS_HOOK": str(SCRIPT),
            }  # fmt: skip
        finally:
            del self._answers[push]
            for task in self._tasks.pop(push):
                task.cancel()

    async def _listen(self) -> None:
        self._remove()
        if len(os.fsencode(self._folder / "socket")) > _LONGEST_SOCKET:
            self._socket = Path(tempfile.mkdtemp(prefix="bbops-")) / "socket"
        if self._listening is not None:
            self._listening.close()
        self._listening = await asyncio.start_unix_server(self._meet, self._socket)
        self._socket.chmod(0o600)

    def _remove(self) -> None:
        with suppress(OSError):
            self._socket.unlink(missing_ok=True)
            if self._socket.parent != self._folder:
                shutil.rmtree(self._socket.parent)

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one hook; what goes wrong is a no."""
        try:
            push, told = await _read(reader)
            task = asyncio.current_task()
            if push in self._answers and task is not None:
                self._tasks[push].add(task)
                await self._answer(self._answers[push], told, writer)
        except ValueError:
            writer.write(b"this push changes more refs than it may\n")
        except (ConnectionError, asyncio.CancelledError):
            pass  # whoever pushes has gone
        finally:
            writer.close()

    async def _answer(self, answer: Answer, told: HookInput, writer: asyncio.StreamWriter) -> None:
        async def say(text: str) -> None:
            writer.write(text.replace("\0", "").encode(errors="replace") + b"\n")
            await writer.drain()

        try:
            if await answer(told, say):
                writer.write(b"\0")
        except ConnectionError:
            raise
        except BbopsError as error:
            await say(f"{error}")
        except Exception:  # noqa: BLE001 - whatever it is, the hook gets its answer
            _log.exception("hook '%s' failed", told.hook)
            await say(_NOT_ASKED)
        await writer.drain()


async def _read(reader: asyncio.StreamReader) -> tuple[str, HookInput]:
    data = await reader.read(MOST_BYTES)
    while not reader.at_eof() and len(data) < MOST_BYTES:
        data += await reader.read(MOST_BYTES - len(data))
    if len(data) >= MOST_BYTES:
        raise ValueError("a push of too many refs")
    head, *lines = data.decode(errors="replace").split("\n")
    push, hook, quarantine, *options = head.split("\0")
    return push, HookInput(hook, quarantine, tuple(options), tuple(filter(None, lines)))


def _write(folder: Path) -> None:
    """Write the files that are missing or differ."""
    for path in (folder.parent, folder):
        path.mkdir(mode=0o700, exist_ok=True)
    for name, text in _FILES.items():
        file = folder / name
        if not file.is_file() or file.read_text() != text or not os.access(file, os.X_OK):
            file.unlink(missing_ok=True)
            file.write_text(text)
            file.chmod(0o700)
        if not os.access(file, os.X_OK):
            raise PermissionError(1, f"'{file}' may not be executed")
