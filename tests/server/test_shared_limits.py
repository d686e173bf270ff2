"""Two data processes are one server to a rate limit, also when one of them dies."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.raw import head, send
from tests.support.running import Running, wait_until_gone

LIMIT = 100
CLIENTS = 32
CHANNEL = "name: api\nbasePath: /api\nauthentication: None\n"
ENDPOINT = "channel: api\nmethod: GET\npath: /hello\nfunction: hello\n"


def rate_limit() -> str:
    """Return a limit whose present window lasts longer than any test."""
    hours = max(range(12, 25), key=lambda hours: -time.time() % (hours * 3600))
    return f"rateLimit: {{ limit: {LIMIT}, per: {hours}h }}\n"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    running = Running(tmp_path, 2)
    files = {"channels/api.yaml": CHANNEL + rate_limit(), "endpoints/limited.yaml": ENDPOINT}
    assert running.publish(files)["release"] == "r1"
    yield running
    running.close()


def ask(url: str) -> int:
    (answer,) = send(url, head("GET /api/hello HTTP/1.1", "Connection: close"))
    return answer.status


def ask_all(url: str, count: int) -> Counter[int]:
    with ThreadPoolExecutor(CLIENTS) as clients:
        return Counter(clients.map(lambda _: ask(url), range(count)))


def test_many_clients_get_exactly_the_limit_through_two_processes(server: Running) -> None:
    assert ask_all(server.url, 4 * LIMIT) == {200: LIMIT, 429: 3 * LIMIT}


@pytest.mark.long
def test_a_process_that_is_replaced_goes_on_with_its_count(server: Running) -> None:
    assert ask_all(server.url, LIMIT - 10) == {200: LIMIT - 10}
    for pid in server.data_pids:
        os.kill(pid, signal.SIGKILL)
    wait_until_gone(server.data_pids)
    assert ask_all(server.url, LIMIT) == {200: 10, 429: LIMIT - 10}
