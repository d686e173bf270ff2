"""`python -m tests.support.hammer`: ask drafts what they do harm with, again and again; for a test.

Reads `{"drafts": [[url, token]], "clients": 8}` from its input, and asks until that ends. With
`"uploads": true` it sends what `hostile_uploads` makes. Prints `began` after the first answer.
"""

from __future__ import annotations

import json
import os
import random
import sys
import threading
from collections import Counter
from contextlib import suppress
from itertools import cycle, product
from pathlib import Path

import httpx

from tests.support.hostile_uploads import WAYS, send

PATIENCE_SECONDS = 4.0
PAUSE_SECONDS = 0.05
"""Between two requests of a client: what drafts do is to harm, not how often they are asked."""


def main() -> None:
    """Ask until nobody listens."""
    os.nice(19)
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text("19")
    told = json.loads(sys.stdin.readline())
    seen: Counter[str] = Counter()
    ended, work = threading.Event(), upload if told.get("uploads") else ask
    threads = [
        threading.Thread(target=work, args=(told["drafts"][at :: told["clients"]], seen, ended))
        for at in range(told["clients"])
    ]
    for thread in threads:
        thread.start()
    while not seen and any(thread.is_alive() for thread in threads):
        ended.wait(PAUSE_SECONDS)
    print("began", flush=True)
    sys.stdin.read()
    ended.set()
    for thread in threads:
        thread.join()
    print(json.dumps(seen))


def ask(drafts: list[tuple[str, str]], seen: Counter[str], ended: threading.Event) -> None:
    """Ask each of the drafts in turn, until the end."""
    with httpx.Client(timeout=PATIENCE_SECONDS) as client:
        while drafts and not ended.is_set():
            for url, token in drafts:
                if ended.is_set():
                    return
                try:
                    reply = client.post(f"{url}bad", headers={"x-draft-token": token})
                    seen[str(reply.status_code)] += 1
                except httpx.HTTPError as error:
                    seen[type(error).__name__] += 1
                ended.wait(PAUSE_SECONDS)


def upload(drafts: list[tuple[str, str]], seen: Counter[str], ended: threading.Event) -> None:
    """Send each of the drafts every hostile body in turn, until the end."""
    ways = random.Random(str(drafts)).sample(WAYS, len(WAYS))  # each client begins with another one
    for (url, token), way in cycle(product(drafts, ways)):
        if ended.is_set():
            return
        told = send(f"{url}bad", {"x-draft-token": token}, way())
        seen[f"{way.__name__} {told}"] += 1
        ended.wait(PAUSE_SECONDS)


if __name__ == "__main__":
    main()
