"""Run one git command to its end, bounded in time, output, memory and disk.

The only file that imports GitPython, which starts the processes. Each gets a scrubbed environment:
no settings of a surrounding git, no terminal, and of all ways to reach another repository only the
one it was given.
"""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from bbops.base.errors import GitError
from bbops.source.git.environment import Limits, bounded, create_environment, without_foreign
from bbops.source.git.place import Place

# GitPython runs git when it is imported, however long that takes, and refuses to be imported where
# git is missing. We have better words for that; what it runs instead cannot run.
os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
os.environ.setdefault("GIT_PYTHON_GIT_EXECUTABLE", os.devnull)

from git import cmd as git_command
from git.exc import GitCommandNotFound

if os.environ["GIT_PYTHON_GIT_EXECUTABLE"] == os.devnull:
    del os.environ["GIT_PYTHON_GIT_EXECUTABLE"]  # not for a hook that uses GitPython, too

INSTALL = "install git 2.38 or newer: https://git-scm.com/downloads"
TIMEOUT_SECONDS = 20.0
_COMPLAINT_BYTES = 32 << 10
_CHUNK = 1 << 16
_WORDS = 400
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
_UNPRINTABLE = re.compile(r"[^ -~\u00a1-\u2027\u2030-\uffef]+")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command printed. `ended` says why it had to be ended, empty when it was not."""

    status: int
    output: bytes
    complaint: str
    ended: str = ""


def run(
    place: Place | None,
    arguments: Sequence[str],
    lines: Sequence[str] = (),
    *,
    work_tree: Path | None = None,
    scheme: str = "",
    settings: Mapping[str, str] | None = None,
    variables: Mapping[str, str] | None = None,
    limits: Limits | None = None,
) -> Answer:
    """Run git to its end, with all that it started.

    Args:
        place: the repository, None for a command that needs none.
        arguments: the verb and what follows it.
        lines: its input.
        work_tree: the folder whose files it may touch.
        scheme: the one way it may reach another repository; empty for none.
        settings: of this command alone, as in `git -c`.
        variables: for the programs that git starts.
        limits: what it may take.
    """
    limits = limits or Limits()
    own = create_environment(place, work_tree, scheme, (settings or {}).items())
    own |= variables or {}
    command = [*bounded(limits), *without_foreign(own, scheme), "git", *arguments]
    folder = work_tree or (place.git_dir if place else None)
    return _execute(command, folder, own, "".join(f"{line}\n" for line in lines).encode(), limits)


def failure(answer: Answer, arguments: Sequence[str], *, hint: str = "") -> GitError:
    """Return the error for a command that failed, in git's own words without any credential."""
    verb = next((word for word in arguments if not word.startswith("-") and "=" not in word), "")
    if answer.ended:
        return GitError(f"git {verb} {answer.ended}", hint=hint)
    if answer.status < 0:
        return GitError(f"git {verb} was terminated by signal {-answer.status}", hint=hint)
    words = _telling(answer.complaint) or f"status {answer.status}"
    words = _UNPRINTABLE.sub(" ", _CREDENTIALS.sub("", words)).strip()
    return GitError(f"git {verb} failed: {words[:_WORDS]}", hint=hint)


def _telling(complaint: str) -> str:
    """Return the words that say why, of the many that git and its transports print."""
    lines = [line.strip() for line in re.split(r"[\r\n]+", complaint) if line.strip()]
    for number, line in enumerate(lines):
        if line.startswith(("fatal:", "error:")):
            if number and "Could not read from remote" in line:
                return lines[number - 1]  # what ssh said
            words = line.partition(":")[2].strip()
            return (
                " ".join([words, *lines[number + 1 : number + 2]]) if words[-1:] == ":" else words
            )
    return lines[0] if lines else ""


# ---- the process
_running: set[subprocess.Popen[bytes]] = set()
_ending = threading.Event()


def end_all() -> None:
    """End every git process of this one and start no more: this process is about to end."""
    _ending.set()
    for process in list(_running):
        _kill(process)


def _execute(
    command: Sequence[str],
    folder: Path | None,
    own: Mapping[str, str],
    given: bytes,
    limits: Limits,
) -> Answer:
    process = _start(command, folder, own, subprocess.PIPE if given else None)
    _running.add(process)
    try:
        if _ending.is_set():
            raise GitError("the process is stopping, so git is no longer run")
        if process.stdin is not None:
            threading.Thread(target=_feed, args=(process.stdin, given), daemon=True).start()
        output = _Reading(process.stdout, limits.output_bytes)
        complaint = _Reading(process.stderr, _COMPLAINT_BYTES, keeps_end=True)
        ended = _watch(process, output, complaint, limits)
    finally:
        _kill(process)
        _running.discard(process)
    words = bytes(complaint.data).decode(errors="replace")
    return Answer(process.returncode, bytes(output.data), words, ended)


def _start(
    command: Sequence[str], folder: Path | None, own: Mapping[str, str], given: int | None
) -> subprocess.Popen[bytes]:
    runner: Any = git_command.Git(None if folder is None else str(folder))
    # A session of its own: no terminal to ask questions on, and one group to end.
    alone: dict[str, Any] = {} if sys.platform == "win32" else {"start_new_session": True}
    try:
        wrapped = runner.execute(command, istream=given, env=own, as_process=True, **alone)
    except GitCommandNotFound:
        raise GitError("git is not installed", hint=INSTALL) from None
    except OSError as error:
        raise GitError(f"git cannot be started: {(error.strerror or '').lower()}") from None
    process: subprocess.Popen[bytes] = wrapped.proc
    wrapped.proc = None  # it is ours to end
    return process


def _watch(
    process: subprocess.Popen[bytes], output: _Reading, complaint: _Reading, limits: Limits
) -> str:
    """Wait for the end; return why the process must be ended instead, empty when it need not."""
    seconds = limits.seconds or TIMEOUT_SECONDS
    quiet_seconds = limits.quiet_seconds or math.inf
    until = time.monotonic() + seconds
    while output.is_alive() or complaint.is_alive() or process.poll() is None:
        now = time.monotonic()
        if output.is_full:
            return f"printed more than {limits.output_bytes:,} bytes"
        if now >= until:
            return f"did not finish within {seconds:g} seconds"
        left = max(output.heard, complaint.heard) + quiet_seconds - now
        if left <= 0:
            return f"produced no output for {quiet_seconds:g} seconds"
        _pause(process, output, complaint, min(left, until - now))
    return f"printed more than {limits.output_bytes:,} bytes" if output.is_full else ""


def _pause(
    process: subprocess.Popen[bytes], output: _Reading, complaint: _Reading, seconds: float
) -> None:
    if output.is_alive():
        output.join(seconds)
    elif complaint.is_alive():
        complaint.join(seconds)
    else:
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)


def _feed(pipe: IO[bytes], given: bytes) -> None:
    with suppress(OSError), pipe:  # it may end before it has read all
        pipe.write(given)


class _Reading(threading.Thread):
    """Takes what a process prints; stops when it is too much, or keeps only the end of it."""

    def __init__(self, pipe: IO[bytes] | None, most_bytes: int, *, keeps_end: bool = False) -> None:
        super().__init__(daemon=True)
        self._pipe, self._most_bytes, self._keeps_end = pipe, most_bytes, keeps_end
        self.data = bytearray()
        self.heard = time.monotonic()
        self.is_full = False
        self.start()

    def run(self) -> None:
        """Read to the end."""
        if self._pipe is None:
            return
        with self._pipe as pipe:
            while chunk := os.read(pipe.fileno(), _CHUNK):
                self.heard = time.monotonic()
                self.data += chunk
                if self._keeps_end:
                    del self.data[: -self._most_bytes]
                elif len(self.data) > self._most_bytes:
                    self.is_full = True
                    return


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process with all it started; nothing happens to one that has ended by itself."""
    if process.poll() is not None:
        return
    with suppress(OSError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
