"""Latency of the live API while live views are open: `python -m tests.bench.tails`.

Each round sends a fixed number of requests per second twice: without live views, and with 200 that
receive each request. The ratio of the two p99 is of one round, so that a busy machine slows both.
"""

from __future__ import annotations

import asyncio
import os
import selectors
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final
from urllib.parse import urlsplit

from bbops_server.accounts.book import Book
from bbops_server.accounts.people import NewPerson
from bbops_server.accounts.rules import Role, Scope
from bbops_server.control_plane.web.broadcasts import MAX_VIEWERS_OF_USER
from tests.bench import processes
from tests.bench.load.steady import Steady
from tests.conftest import ROOT
from tests.support.patience import PATIENCE_SECONDS, wait_for
from tests.support.served import Served, git
from tests.support.small_project import write_project

TAILS: Final = 200
ROUNDS: Final = 25
SECONDS: Final = 4.0
RATE: Final = 300.0
"""Requests per second; each frame of a live view has 50 of them."""
MOST: Final = 1.2
_STREAM: Final = "/api/projects/small/stream?of=status,requests"


def watch(port: int, count: int, *tokens: str) -> None:
    """Open live views, print the number that is open, and read them until the input ends.

    The kernel runs this process only while the clients of the API have nothing to do: browsers
    would not share a core with them.
    """
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    buffer = bytearray(1 << 16)
    with ExitStack() as stack, selectors.DefaultSelector() as selector:
        selector.register(sys.stdin, selectors.EVENT_READ)
        for number in range(count):
            view = stack.enter_context(_open(port, tokens[number % len(tokens)]))
            selector.register(view, selectors.EVENT_READ)
        print(count, flush=True)
        while True:
            for key, _ in selector.select():
                if not isinstance(key.fileobj, socket.socket):
                    return
                assert key.fileobj.recv_into(buffer), "a live view has ended"


def _open(port: int, token: str) -> socket.socket:
    view = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)
    head = f"GET {_STREAM} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n"
    view.sendall(f"{head}authorization: Bearer {token}\r\n\r\n".encode())
    assert view.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
    return view


@contextmanager
def watched(port: int, count: int, tokens: Sequence[str]) -> Iterator[None]:
    """Open live views in another process while the block runs."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.tails", str(port), str(count), *tokens],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    with process:
        assert process.stdout is not None
        assert int(process.stdout.readline()) == count
        yield
        assert process.stdin is not None
        process.stdin.close()
    assert process.returncode == 0


def make_tokens(served: Served, count: int) -> list[str]:
    """Return tokens of new users, who together may open all live views."""
    book = Book.open(served.repository / ".bbops/state")
    people = [NewPerson(f"{number}@example.com", "Viewer", role=Role.DEVELOPER)
              for number in range(count)]  # fmt: skip
    added = [book.people.add(person) for person in people]
    return [book.tokens.make(person.id, "bench", [Scope.READ])[0] for person in added]


def load(served: Served, seconds: float) -> float:
    """Return the p99 of a steady load, in milliseconds."""
    port = urlsplit(served.serving["url"]).port
    assert port is not None
    request = f"GET /hello HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\r\n".encode()
    found = asyncio.run(Steady(request, 200).run(port, seconds, 32, RATE))
    assert not found["failed"], found
    return found["p99"]


def compare(
    served: Served, *, rounds: int, seconds: float, tails: int
) -> list[tuple[float, float]]:
    """Return the p99 without and with live views, for each round."""
    port = urlsplit(served.serving["control_url"]).port
    assert port is not None
    tokens = make_tokens(served, -(-tails // MAX_VIEWERS_OF_USER))
    load(served, seconds)  # the first requests are slower
    pairs = []
    for number in range(rounds):
        pair = {}
        for is_watched in (number % 2 == 0, number % 2 == 1):
            with watched(port, tails if is_watched else 0, tokens):
                pair[is_watched] = load(served, seconds)
        pairs.append((pair[False], pair[True]))
    return pairs


def main(rounds: int = ROUNDS, seconds: float = SECONDS, tails: int = TAILS) -> None:
    """Measure the rounds, and print each p99 and the median ratio."""
    servers, clients = processes.cores()
    with TemporaryDirectory() as name:
        folder = Path(name)
        project = write_project(folder / "small")
        git(project, "init", "-qb", "main")
        git(project, "add", "-A")
        git(project, "commit", "-qm", "Start")
        with processes.pinned(servers):
            served = Served(project, folder / "home")
        with served, processes.pinned(clients):
            served.live()
            wait_for(lambda: served.api.get("/hello").status_code == 200)
            pairs = compare(served, rounds=rounds, seconds=seconds, tails=tails)
    print(f"{'p99 ms without':>16} {f'with {tails}':>10} {'ratio':>7}")
    for without, with_tails in pairs:
        print(f"{without:>16.2f} {with_tails:>10.2f} {with_tails / without:>7.2f}")
    ratio = median(with_tails / without for without, with_tails in pairs)
    print(f"median ratio {ratio:.2f}, at most {MOST} is expected")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        watch(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
    else:
        main()
