"""`python -m bbops_server.data_plane.work CONTROL_FD BELL_FD CENTER_FD`."""

from __future__ import annotations

import signal
import sys

# First of all: the parent decides when this process ends, also while it is still importing.
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)

from bbops_server.data_plane.work.process import run  # noqa: E402 - see above

if __name__ == "__main__":
    control, bell, center = map(int, sys.argv[1:])
    run(control=control, bell=bell, center=center)
