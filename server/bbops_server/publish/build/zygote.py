"""`python -m bbops_server.publish.build.zygote CONTROL_FD`: forks test processes."""

from __future__ import annotations

import signal
import sys

# First: the parent decides when this process ends, also during the imports.
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)

from bbops_server.process.forks.zygote import serve  # noqa: E402 - see above
from bbops_server.process.messages.forks import ForkTestRun  # noqa: E402 - see above
from bbops_server.publish.build.project_tests import run, warm  # noqa: E402 - see above

if __name__ == "__main__":
    warm()
    serve(int(sys.argv[1]), ForkTestRun, run)
