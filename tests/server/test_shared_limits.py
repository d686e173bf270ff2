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
FILES = {
    "channels/api.yaml": (f"name: api\nbasePath: /api\nauthentication: None\nrateLimit: {LIMIT}\n"),
    "endpoints/limited.yaml": "channel: api\nmethod: GET\npath: /hello\nfunction: hello\n",
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    running = Running(tmp_path, 2)
    assert running.publish(FILES)["release"] == "r1"
    yield running
    running.close()


def ask(url: str) -> int:
    (answer,) = send(url, head("GET /api/hello HTTP/1.1", "Connection: close"))
    return answer.status


def ask_all(url: str, count: int) -> Counter[int]:
    with ThreadPoolExecutor(CLIENTS) as clients:
        return Counter(clients.map(lambda _: ask(url), range(count)))


def begin_in_a_fresh_minute() -> None:
    """The counts start again with the clock's minute."""
    second = time.time() % 60
    if second > 50:
        time.sleep(60.5 - second)


def test_many_clients_get_exactly_the_limit_through_two_processes(server: Running) -> None:
    begin_in_a_fresh_minute()
    assert ask_all(server.url, 4 * LIMIT) == {200: LIMIT, 429: 3 * LIMIT}


@pytest.mark.long
def test_a_process_that_is_replaced_goes_on_with_its_count(server: Running) -> None:
    begin_in_a_fresh_minute()
    assert ask_all(server.url, LIMIT - 10) == {200: LIMIT - 10}
    for pid in server.data_pids:
        os.kill(pid, signal.SIGKILL)
    wait_until_gone(server.data_pids)
    assert ask_all(server.url, LIMIT) == {200: 10, 429: LIMIT - 10}
