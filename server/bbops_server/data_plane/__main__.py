"""`python -m bbops_server.data_plane CONTROL LISTENING BELL [SHARED] CENTER [LANE LANES]`.

CENTER is the path of the socket that numbers messages; the others are descriptors and numbers.
"""

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
