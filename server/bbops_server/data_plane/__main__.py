"""`python -m bbops_server.data_plane CONTROL_FD LISTENING_FD BELL_FD [SHARED_FD LANE LANES]`."""

from __future__ import annotations

import signal
import sys

# First of all: the parent decides when this process ends, also while it is still importing.
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)

from bbops_server.data_plane.serve import run  # noqa: E402 - see above

if __name__ == "__main__":
    (center,) = (one for one in sys.argv[1:] if not one.isdigit())
    control, listening, bell, *shared = (int(one) for one in sys.argv[1:] if one.isdigit())
    run(control=control, listening=listening, bell=bell, center=center, shared=shared)
