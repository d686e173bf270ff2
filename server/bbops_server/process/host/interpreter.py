"""The switch interval of a process's threads."""

from __future__ import annotations

import sys
from typing import Final

SWITCH_SECONDS: Final = 0.0005
"""The switch interval of the interpreter.

A thread that writes holds the gate of a SQLite file, for which every process waits. It needs the
interpreter after each statement and each row. While the event loop computes, the thread waits for
a switch interval, by default 5 ms: 50 ms for a commit. docs/decisions/0100 has the figures.
"""


def share_interpreter() -> None:
    """Set the switch interval, so that threads get the interpreter sooner from the event loop."""
    sys.setswitchinterval(SWITCH_SECONDS)
