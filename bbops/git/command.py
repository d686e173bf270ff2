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
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from bbops.errors import GitError
from bbops.git.place import Place

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
_CORES = 8  # threads that git may use at once

MAX_OUTPUT_BYTES = 128 << 20

_COMPLAINT_BYTES = 32 << 10
_CHUNK = 1 << 16
_WORDS = 400
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
_UNPRINTABLE = re.compile(r"[^ -~\u00a1-\u2027\u2030-\uffef]+")
_KEPT = re.compile(r"GIT_(AUTHOR|COMMITTER)_|GIT_CONFIG_GLOBAL$|GIT_EXEC_PATH$|GIT_PYTHON_")
_KEPT_ONLINE = re.compile(r"GIT_(SSH|SSL|PROXY_SSL|HTTP_PROXY|ASKPASS$)")
_SETTINGS = {
    "protocol.allow": "never",
    "core.fsmonitor": "false",
    "core.commitGraph": "false",  # a file that could lie about who descends from whom
    "gc.auto": "0",
    "maintenance.auto": "false",
}
_FIXED = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_EDITOR": "true",
    "GIT_PAGER": "cat",
    "GCM_INTERACTIVE": "never",
    "SSH_ASKPASS_REQUIRE": "never",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """What a command may take. A file and memory bound needs a POSIX shell, which servers have."""

    seconds: float | None = None
    quiet_seconds: float | None = None
    output_bytes: int = MAX_OUTPUT_BYTES
    file_bytes: int | None = None
    memory_bytes: int | None = None


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
        limits: what it may take.
    """
    limits = limits or Limits()
    own = _environment(place, work_tree, scheme, (settings or {}).items())
    command = [*bounded(limits), *_without_foreign(own, scheme), "git", *arguments]
    folder = work_tree or (place.git_dir if place else None)
    return _execute(command, folder, own, "".join(f"{line}\n" for line in lines).encode(), limits)


def failure(answer: Answer, arguments: Sequence[str], *, hint: str = "") -> GitError:
    """Return the error for a command that failed, in git's own words without any credential."""
    verb = next((word for word in arguments if not word.startswith("-") and "=" not in word), "")
    if answer.ended:
        return GitError(f"git {verb} {answer.ended}", hint=hint)
    if answer.status < 0:
        return GitError(f"git {verb} was ended by signal {-answer.status}", hint=hint)
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
            raise GitError("git is not asked any more, this process ends")
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
            return f"did not end within {seconds:g} seconds"
        left = max(output.heard, complaint.heard) + quiet_seconds - now
        if left <= 0:
            return f"gave no sign of life for {quiet_seconds:g} seconds"
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


# ---- its environment
def scrubbed_environment(settings: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return all that a git process which others start may see of this machine.

    No home folder, no settings but these and the repository's own, and of all ways to reach another
    repository none.
    """
    own = _environment(None, None, "", [("safe.directory", "*"), *settings])
    return {"PATH": os.environ.get("PATH", os.defpath), "GIT_CONFIG_GLOBAL": os.devnull, **own}


def _environment(
    place: Place | None, work_tree: Path | None, scheme: str, more: Iterable[tuple[str, str]]
) -> dict[str, str]:
    values = dict(_FIXED)
    # The only list that the settings of a repository cannot add to.
    values["GIT_ALLOW_PROTOCOL"] = scheme
    if not scheme:  # the system's settings may hold the helper that knows a password
        values["GIT_CONFIG_NOSYSTEM"] = "1"
    settings = [*_SETTINGS.items(), *more]
    if scheme:
        settings.append((f"protocol.{scheme}.allow", "always"))
    if place is not None:
        values["GIT_DIR"] = str(place.git_dir)
        if place.index is not None:
            values["GIT_INDEX_FILE"] = str(place.index)
        if place.quarantine is not None:
            values["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = _quoted(place.quarantine)
        settings += [("safe.directory", str(one)) for one in (place.git_dir, place.common_dir)]
    if work_tree is not None:
        values["GIT_WORK_TREE"] = str(work_tree.absolute())
        settings.append(("safe.directory", values["GIT_WORK_TREE"]))
    values["GIT_CONFIG_COUNT"] = str(len(settings))
    for number, (key, value) in enumerate(settings):
        values[f"GIT_CONFIG_KEY_{number}"] = key
        values[f"GIT_CONFIG_VALUE_{number}"] = value
    return values


def _quoted(path: Path) -> str:
    """Return a path in a list that colons part: git(1), GIT_ALTERNATE_OBJECT_DIRECTORIES."""
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _without_foreign(own: Mapping[str, str], scheme: str) -> list[str]:
    """Return a command prefix that drops what a surrounding git, a hook say, has set for itself.

    GitPython always passes this process's environment on and cannot remove anything from it.
    """
    if sys.platform == "win32":
        return []
    foreign = [name for name in os.environ if name.startswith("GIT_") and name not in own]
    names = [name for name in foreign if not _is_kept(name, scheme)]
    names += ["SSH_ASKPASS"] if "SSH_ASKPASS" in os.environ else []  # it opens a window
    return ["/usr/bin/env", *(part for name in names for part in ("-u", name))] if names else []


def _is_kept(name: str, scheme: str) -> bool:
    return bool(_KEPT.match(name) or (scheme and _KEPT_ONLINE.match(name)))


def bounded(limits: Limits) -> list[str]:
    """Return a command prefix that bounds the memory, and the size of any file written."""
    bounds = []
    if limits.memory_bytes:
        bounds.append(f"ulimit -S -v {limits.memory_bytes // 1024}")
    if limits.file_bytes:
        bounds.append(f"ulimit -S -f {limits.file_bytes // 512}")
    if not bounds or sys.platform == "win32":
        return []
    if limits.seconds:  # should nobody be left to end it: that a server was killed, say
        bounds.append(f"ulimit -S -t {_CORES * math.ceil(limits.seconds)}")
    # A system that knows no such bound, or has a tighter one, goes without ours.
    script = "; ".join(f"{bound} 2>/dev/null" for bound in bounds)
    return ["/bin/sh", "-c", f'{script}; exec "$@"', "git"]
