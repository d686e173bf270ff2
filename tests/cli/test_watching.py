"""`bbops status --watch` sees stages pass, and ends with Ctrl-C."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.served import environment
from tests.support.statuses import READY, STALLED, Start, answers_of, control

__all__ = ["control"]
PATH = "GET /api/projects/shop/status"
BUILDING = {
    **READY,
    "conditions": [
        *READY["conditions"][:1],
        {"type": "Reconciling", "status": True, "reason": "Building", "message": "main@sha1:bb"},
    ],
}


@contextmanager
def watching(home: Path, url: str, *more: str, **how: Any) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "bbops", "status", "--watch", "--server", url, *more],
        text=True, env=environment(home) | {"TERM": "xterm"}, **{"stdout": subprocess.PIPE, **how},
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def end(process: subprocess.Popen[str]) -> int:
    process.send_signal(signal.SIGINT)
    return process.wait(10)


def read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def read_until(terminal: int, mark: bytes) -> bytes:
    """Return what a terminal shows until something is there."""
    seen = b""
    while mark not in seen:
        assert select.select([terminal], [], [], 10)[0], seen
        seen += os.read(terminal, 4096)
    return seen


def test_each_change_is_a_line_and_the_code_is_that_of_the_end(
    control: Start, tmp_path: Path
) -> None:
    answers = answers_of(READY)
    with watching(tmp_path, control(answers)) as process:
        assert read_line(process).split()[1:] == ["shop", "Ready", "Published", "it", "is", "live"]
        answers[PATH] = 200, BUILDING
        assert read_line(process).split()[1:] == [
            "shop", "Reconciling", "Building", "main@sha1:bb"
        ]  # fmt: skip
        answers[PATH] = 200, {**STALLED, "name": "shop"}
        assert "not Ready  Behind" in read_line(process)
        assert "Stalled  Invalid  1 error [x]" in read_line(process)
        assert end(process) == 1


def test_each_change_is_an_object_of_json(control: Start, tmp_path: Path) -> None:
    answers = answers_of(READY)
    with watching(tmp_path, control(answers), "shop", "--json") as process:
        assert json.loads(read_line(process))["release"] == READY["release"]
        answers[PATH] = 200, {**READY, "release": "e" * 64}
        assert json.loads(read_line(process))["release"] == "e" * 64
        assert end(process) == 0


def test_a_server_that_is_away_for_a_moment_is_waited_for(control: Start, tmp_path: Path) -> None:
    answers = answers_of(READY)
    with watching(tmp_path, control(answers), stderr=subprocess.PIPE) as process:
        read_line(process)
        answers[PATH] = 503, "soon"
        assert process.stderr is not None
        assert "retrying" in process.stderr.readline()
        answers[PATH] = 200, BUILDING
        assert "Building" in read_line(process)
        assert end(process) == 0
        process.stderr.close()


def test_a_terminal_shows_a_table_that_stays_in_place(control: Start, tmp_path: Path) -> None:
    answers = answers_of(READY)
    ours, theirs = pty.openpty()
    with watching(tmp_path, control(answers), stdout=theirs) as process:
        os.close(theirs)
        read_until(ours, b"Published")
        answers[PATH] = 200, BUILDING
        assert b"\x1b[1A" in read_until(ours, b"Building")
        assert end(process) == 0
    os.close(ours)
