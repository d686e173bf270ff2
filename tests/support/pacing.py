"""`python -m tests.support.pacing URL PLACE COUNT`: one of several processes that ask a vendor.

Two runs of it ask in turns, each one request after the other, as two requests of a server would.
It prints when a vendor's `Retry-After` was written down for all.
"""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import replace

from bbops.base.host import HttpResponse
from bbops.compiler.testing.host import fake_host
from bbops.database.open import open_database
from bbops.database.schema.place import read_place
from bbops.runtime.vendors._work import Terms, Work
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.process.host.http import OutsideHttp
from bbops_server.process.host.system import SystemClock

RATE = 100.0
AT_ONCE = 2
"""Requests of one process that may be under way."""


async def ask_all(url: str, place: str, count: int) -> None:
    """Ask so often, each time in a turn of its own."""
    door, http = await open_database(read_place(place)), OutsideHttp(EgressPolicy(["127.0.0.1"]))
    host = replace(fake_host(door, http=http), clock=SystemClock())
    work = Work("store", host, {"accessToken": "secret"}, None, Terms(per_second=RATE))

    async def ask(name: str, times: int) -> None:
        for number in range(times):
            answer: HttpResponse = await work.send("GET", f"{url}/{name}/{number}", {})
            if answer.status == 429:
                print(time.time(), flush=True)

    names = [f"{sys.argv[4]}-{one}" for one in range(AT_ONCE)]
    await asyncio.gather(*(ask(name, count // AT_ONCE) for name in names))
    await http.close()
    await door.close()


if __name__ == "__main__":
    asyncio.run(ask_all(sys.argv[1], sys.argv[2], int(sys.argv[3])))
