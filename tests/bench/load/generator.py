"""Start a load generator in a process of its own and read what it counted."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from tests.bench import processes
from tests.bench.shots import Shot
from tests.conftest import ROOT

CONNECTIONS = 32


class Count(NamedTuple):
    """Answers of one run; `failed` had another status than they should, or none."""

    requests: int
    failed: int
    seconds: float


class Latency(NamedTuple):
    """Of a run at a fixed rate, in milliseconds."""

    requests: int
    failed: int
    p50: float
    p99: float
    max: float


def generator_name() -> str:
    """Return which generator `saturate` uses on this machine."""
    return "wrk" if shutil.which("wrk") else "python"


def saturate(shot: Shot, port: int, seconds: float) -> Count:
    """Return how many requests a server answers."""
    if generator_name() == "wrk":
        return _run_wrk(shot, port, seconds)
    found = _run_own(shot, port, seconds, rate=0)
    return Count(int(found["requests"]), int(found["failed"]), found["seconds"])


def keep_rate(shot: Shot, port: int, seconds: float, rate: float) -> Latency:
    """Return how long answers take at a fixed rate."""
    found = _run_own(shot, port, seconds, rate=rate)
    requests, failed = int(found["requests"]), int(found["failed"])
    return Latency(requests, failed, found["p50"], found["p99"], found["max"])


def _run_own(shot: Shot, port: int, seconds: float, *, rate: float) -> dict[str, float]:
    order = {
        "port": port, "seconds": seconds, "connections": CONNECTIONS, "rate": rate,
        "status": shot.status, "requests": [one.decode() for one in shot.render()],
    }  # fmt: skip
    output = _run([sys.executable, "-m", "tests.bench.load"], json.dumps(order))
    result: dict[str, float] = json.loads(output)
    return result


_SCRIPT = """
local requests, at = {%s}, 0
request = function() at = at %% #requests + 1; return requests[at] end
done = function(summary)
  local failed = summary.errors
  io.write(string.format("%%d %%d %%d\\n", summary.requests, summary.duration, failed.connect
    + failed.read + failed.write + failed.timeout + failed.status))
end
"""


def _run_wrk(shot: Shot, port: int, seconds: float) -> Count:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "shot.lua"
        script.write_text(_SCRIPT % ",".join(map(_lua, shot.render())))
        # its own clock counts whole seconds: `duration` says what it really took
        whole = max(1, round(seconds))
        options = ["-t1", f"-c{CONNECTIONS}", f"-d{whole}s", "-s", str(script)]
        output = _run(["wrk", *options, f"http://127.0.0.1:{port}"])
    found = re.search(r"^(\d+) (\d+) (\d+)$", output, re.MULTILINE)
    assert found is not None, output
    requests, microseconds, failed = map(int, found.groups())
    return Count(requests, failed, microseconds / 1e6)


def _run(command: list[str], order: str = "") -> str:
    # affinity belongs to a thread: it must be this one, which starts the process
    with processes.pinned(processes.cores()[1]):
        done = subprocess.run(
            command, input=order, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
        )
    return done.stdout


def _lua(request: bytes) -> str:
    text = request.decode().replace("\\", "\\\\").replace('"', '\\"')
    return '"' + text.replace("\r", "\\r").replace("\n", "\\n") + '"'
