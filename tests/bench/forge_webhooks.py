"""From the webhook of a forge to the live change: `python -m tests.bench.forge_webhooks`.

A commit of one file is pushed to a repository elsewhere, which the server polls once an hour. The
time runs from the webhook until the live API answers with the change.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, sleep
from typing import Final

from tests.support.forge_server import ForgeServer

ROUNDS: Final = 20
MOST_SECONDS: Final = 0.5


def measure(server: ForgeServer, version: int) -> float:
    """Push a version and send the webhook; return the seconds until it is live."""
    server.push(version)
    began = perf_counter()
    server.hook(b"{}").raise_for_status()
    while server.version() != version:
        sleep(0.005)
    return perf_counter() - began


def main() -> int:
    """Print the median and the worst of all rounds; return 1 if the median is over the limit."""
    with TemporaryDirectory() as folder:
        server = ForgeServer(Path(folder))
        try:
            seconds = [measure(server, 100 + number) for number in range(ROUNDS)]
        finally:
            server.stop()
    middle = median(seconds)
    print(f"webhook to live, {ROUNDS} pushes: median {middle:.2f} s, worst {max(seconds):.2f} s")
    print(f"limit of the median: {MOST_SECONDS:g} s")
    return int(middle > MOST_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
