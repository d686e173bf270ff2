"""Let a process's threads take turns at the interpreter often enough."""

from __future__ import annotations

import sys
from typing import Final

SWITCH_SECONDS: Final = 0.0005
"""A thread that writes holds the gate of a SQLite file, for which every process waits.

It needs the interpreter again after each statement and each row. While the event loop computes,
it gets it a switch interval later, which is 5 ms by default: 50 ms for a commit.
docs/decisions/0100 has the figures.
"""


def share_interpreter() -> None:
    """Have the event loop give way to the threads of this process, for good."""
    sys.setswitchinterval(SWITCH_SECONDS)
