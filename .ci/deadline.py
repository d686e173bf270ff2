"""Run a command until a deadline: `python3 .ci/deadline.py SECONDS COMMAND…`.

SECONDS is a time as `date +%s` prints it. At that time the command is killed with its process
group, and the exit status is 124. Otherwise the command's exit status is passed on.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

TIMED_OUT = 124
"""Exit status of timeout(1) for a command that it ended."""


def run(command: Sequence[str], deadline: float, env: Mapping[str, str] | None = None) -> int:
    """Run `command` in a process group of its own and return its exit status.

    Args:
        command: the program and its arguments; standard input is empty.
        deadline: seconds since 1970 at which the group is killed.
        env: the whole environment; that of this process if None.
    """
    process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        return process.wait(max(0, deadline - time.time()))
    except subprocess.TimeoutExpired:
        print(f"timed out: {shlex.join(command)}", file=sys.stderr, flush=True)
        return TIMED_OUT
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def exit_on_sigterm() -> None:
    """Have SIGTERM end this process by an exception, so that `run` kills its process group."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


if __name__ == "__main__":
    exit_on_sigterm()
    sys.exit(run(sys.argv[2:], float(sys.argv[1])))
