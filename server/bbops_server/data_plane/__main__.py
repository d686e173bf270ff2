"""`python -m bbops_server.data_plane CONTROL LISTENING BELL [SHARED] --center PATH [LANE LANES]`.

Descriptors first, then the path of the socket at which messages are numbered.
"""

from __future__ import annotations

import signal
import sys

# First of all: the parent decides when this process ends, also while it is still importing.
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)

from bbops_server.data_plane.realtime.fanout.end import CENTER  # noqa: E402 - see above
from bbops_server.data_plane.serve import run  # noqa: E402 - see above

if __name__ == "__main__":
    at = sys.argv.index(CENTER)
    control, listening, bell, *shared = map(int, sys.argv[1:at])
    center, *lane = sys.argv[at + 1 :]
    shared += map(int, lane)
    run(control=control, listening=listening, bell=bell, center=center, shared=shared)
