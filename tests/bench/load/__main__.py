"""`python -m tests.bench.load`: one JSON order on stdin, one JSON result on stdout."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import uvloop

from tests.bench.load.closed import Closed
from tests.bench.load.steady import Steady


async def _run(order: dict[str, Any]) -> dict[str, float]:
    requests = [text.encode() for text in order["requests"]]
    port, seconds, connections = order["port"], order["seconds"], order["connections"]
    if order["rate"]:
        steady = Steady(requests[0], order["status"])
        return await steady.run(port, seconds, connections, order["rate"])
    return await Closed(requests, order["status"]).run(port, seconds, connections)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(json.dumps(runner.run(_run(json.load(sys.stdin)))))
