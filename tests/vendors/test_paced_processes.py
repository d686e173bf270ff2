"""Four processes, as of two servers on one database, ask a vendor that takes 100 a second.

`BBOPS_PACED_REQUESTS=3000` asks so often; without it 400 times.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bbops.database.migrate.migrate import apply
from bbops.database.schema.place import Place, PostgresPlace, write_place
from tests.support.pacing import AT_ONCE, RATE

pytestmark = pytest.mark.long

PROCESSES = 4
COUNT = int(os.environ.get("BBOPS_PACED_REQUESTS", "400"))
PAUSE_SECONDS = 3
UNDER_WAY = PROCESSES * AT_ONCE


class Paced(ThreadingHTTPServer):
    """A vendor that notes when it is asked, and once asks to be left alone."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, refuses: int) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.refuses, self.lock = refuses, threading.Lock()
        self.asked: list[tuple[float, str]] = []
        self.refused_at = 0.0


class _Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        there = self.server
        assert isinstance(there, Paced)
        with there.lock:
            now = time.time()
            there.asked.append((now, self.path))
            is_refused = len(there.asked) == there.refuses
            if is_refused:
                there.refused_at = now
        self.send_response(429 if is_refused else 200)
        if is_refused:
            self.send_header("retry-after", str(PAUSE_SECONDS))
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def run_all(place: Place, refuses: int) -> tuple[Paced, float]:
    """Let all processes ask; return the vendor, and when its pause was known to all."""
    apply(place, {})
    there = Paced(refuses)
    threading.Thread(target=there.serve_forever, args=(0.02,), daemon=True).start()
    url = f"http://127.0.0.1:{there.server_address[1]}"
    command = [sys.executable, "-P", "-m", "tests.support.pacing", url, write_place(place)]
    every = [
        subprocess.Popen(
            [*command, str(COUNT // PROCESSES), str(one)], stdout=subprocess.PIPE, text=True
        )
        for one in range(PROCESSES)
    ]
    try:
        said = "".join(one.communicate(timeout=300)[0] for one in every)
        assert [one.returncode for one in every] == [0] * PROCESSES
    finally:
        for one in every:
            one.kill()
        there.shutdown()
        there.server_close()
    return there, float(said or 0)


def hold(there: Paced, known_at: float) -> None:
    """Hold that the vendor was never asked more often, and was left alone when it said so.

    A process that was late brings what had its turn before: no more than are under way at once.
    """
    times = [at for at, _ in there.asked]
    assert len(times) == COUNT
    for first in range(0, len(times), 7):
        for last in range(first + 1, len(times), 7):
            most = RATE * (times[last] - times[first]) + 1 + UNDER_WAY
            assert last - first + 1 <= most + 1
    senders: dict[str, list[int]] = {}
    for _, path in there.asked:
        name, number = path.strip("/").split("/")
        senders.setdefault(name, []).append(int(number))
    assert len(senders) == UNDER_WAY
    assert all(one == sorted(one) for one in senders.values())
    until = there.refused_at + PAUSE_SECONDS
    late = [at for at in times if known_at < at < until]
    assert len(late) <= PROCESSES


def test_a_vendor_is_never_asked_more_often_from_two_servers(schema: PostgresPlace) -> None:
    hold(*run_all(schema, COUNT // 2))


def test_nor_from_four_processes_of_one(tmp_path: Path) -> None:
    hold(*run_all(tmp_path / "data.sqlite", COUNT // 2))
