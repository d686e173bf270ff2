"""A client that asks a project all the time, for tests of what goes on meanwhile."""

from __future__ import annotations

import threading
from typing import Final

import httpx

from tests.support.patience import PATIENCE_SECONDS, wait_for

BREAK_SECONDS: Final = 0.015


class Reader:
    """A client that keeps its connection and asks all the time."""

    def __init__(self, url: str) -> None:
        self.url, self.over = url, threading.Event()
        self.seen: list[tuple[str, int]] = []
        self.failures: list[str] = []
        self.begun = self.ended = 0
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        with httpx.Client(base_url=self.url, timeout=PATIENCE_SECONDS) as client:
            while not self.over.wait(BREAK_SECONDS):
                self.begun += 1
                try:
                    reply = client.get("/hello")
                    found = reply.headers["x-release"], reply.json()["version"]
                except (httpx.HTTPError, ValueError, KeyError) as error:
                    self.failures.append(repr(error))
                else:
                    if [found] != self.seen[-1:]:
                        self.seen.append(found)
                self.ended = self.begun

    def take(self) -> tuple[list[tuple[str, int]], list[str]]:
        """Return what it has seen since, in order, each once, and what failed.

        What it saw last is of now: on a busy machine it may not have asked for a while.
        """
        begun = self.begun
        wait_for(lambda: self.ended > begun)
        seen, self.seen = self.seen, self.seen[-1:]
        failures, self.failures = self.failures, []
        return seen, failures

    def stop(self) -> None:
        """Ask no more."""
        self.over.set()
        self.thread.join()
