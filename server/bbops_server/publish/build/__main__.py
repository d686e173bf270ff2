"""`python -m bbops_server.publish.build CONTROL_FD [drafts]`, started by the server only."""

from __future__ import annotations

import signal
import sys

# First: the parent decides when this process ends, also during the imports.
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)

from bbops_server.publish.build.worker import run  # noqa: E402 - see above

if __name__ == "__main__":
    run(control=int(sys.argv[1]), is_of_drafts=sys.argv[2:] == ["drafts"])
