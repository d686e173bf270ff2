"""`python -m bbops_server.publish.build.zygote CONTROL_FD`: forks what runs tests."""

from __future__ import annotations

import signal
import sys

# First of all: the parent decides when this process ends, also while it is still importing.
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)

from bbops_server.process.forks.zygote import serve  # noqa: E402 - see above
from bbops_server.process.messages.forks import ForkTestRun  # noqa: E402 - see above
from bbops_server.publish.build.trial import run, warm  # noqa: E402 - see above

if __name__ == "__main__":
    warm()
    serve(int(sys.argv[1]), ForkTestRun, run)
