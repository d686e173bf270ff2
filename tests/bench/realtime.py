"""What a connection and a delivery cost: `python -m tests.bench.realtime [CLIENTS] [MESSAGES]`.

A real server with one data process, 2,000 websockets from one process beside it. Memory and CPU
are those of the data process, as the system tells them. What it uses in as much time without a
message, such as for pings, is taken off; the requests that publish are in it. Beside it stands what
the kernel alone takes to send so many bytes to so many sockets, from a plain loop.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import uvloop

from bbops.source.git import store
from tests.bench.yardstick import Yardstick
from tests.support.patience import PATIENCE_SECONDS
from tests.support.realtime import FILES
from tests.support.served import Served

_HANDSHAKE: Final = (
    b"GET /~realtime HTTP/1.1\r\nhost: %b\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
    b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n"
)
PAUSE_SECONDS: Final = 0.1
_TEXT: Final = b'"text":"'
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_TICK: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Used:
    """What a process has used: bytes, and seconds of CPU."""

    memory_bytes: int
    cpu_seconds: float


def used(pid: int) -> Used:
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return Used(pages * _PAGE, (int(stat[11]) + int(stat[12])) / _TICK)


class Client(asyncio.Protocol):
    """As little of a client as there can be: it counts what comes, and when."""

    ages: Final[list[float]] = []

    def __init__(self, host: str, channel: str) -> None:
        self.host, self.channel = host.encode(), channel
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.rest = b""
        self.is_up = False

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.write(_HANDSHAKE % self.host)

    def say(self, command: object) -> None:
        data = json.dumps(command).encode()
        self.transport.write(bytes((0x81, 0x80 | len(data))) + bytes(4) + data)

    def data_received(self, data: bytes) -> None:
        self.rest += data
        if not self.is_up:
            if b"\r\n\r\n" not in self.rest:
                return
            self.rest, self.is_up = self.rest.partition(b"\r\n\r\n")[2], True
            self.say({"id": 1, "connect": {}})
            self.say({"id": 2, "subscribe": {"channel": self.channel}})
        if b'"id":2' in self.rest and not self.ready.done():
            self.ready.set_result(None)
        now = time.time()
        while (at := self.rest.find(_TEXT)) >= 0 and (end := self.rest.find(b" ", at)) >= 0:
            self.ages.append(now - float(self.rest[at + len(_TEXT) : end]))
            self.rest = self.rest[end:]


async def measure(served: Served, pid: int, clients: int, messages: int, channel: str) -> None:
    loop, address = asyncio.get_running_loop(), httpx.URL(served.serving["url"])
    host = f"{address.host}:{address.port}"
    before, every = used(pid), list[Client]()
    for number in range(clients):
        _, one = await loop.create_connection(
            lambda: Client(host, channel), address.host, address.port
        )
        every.append(one)
        if number % 50 == 49:
            await every[-1].ready
    await asyncio.gather(*(one.ready for one in every))
    await asyncio.sleep(1)
    connected = used(pid)
    await asyncio.sleep(messages * PAUSE_SECONDS + 1)
    quiet = used(pid).cpu_seconds - connected.cpu_seconds
    connected_again = used(pid)
    with Yardstick().beside() as slowness:
        async with httpx.AsyncClient(
            base_url=served.serving["url"], timeout=PATIENCE_SECONDS
        ) as api:
            Client.ages.clear()
            for _ in range(messages):
                text = f"{time.time()} {'x' * 150}"
                answer = await api.post("/say", json={"topic": "hall", "text": text})
                assert answer.status_code == 204
                await asyncio.sleep(PAUSE_SECONDS)
        await asyncio.sleep(1)
    after, ages = used(pid), sorted(Client.ages)
    wanted = clients * messages
    memory = (connected.memory_bytes - before.memory_bytes) / clients
    opening = (connected.cpu_seconds - before.cpu_seconds) / clients
    sending = (after.cpu_seconds - connected_again.cpu_seconds - quiet) / wanted / slowness.times
    print(f"{channel}: {clients} connections: {memory / 1000:.1f} kB and"
          f" {1e3 * opening:.2f} ms CPU each")  # fmt: skip
    print(f"{channel}: {len(ages)} of {wanted} deliveries, {1e6 * sending:.1f} us CPU each"
          f" (of a quiet core); p50 {1e3 * ages[len(ages) // 2]:.1f} ms,"
          f" p99 {1e3 * ages[int(0.99 * len(ages))]:.1f} ms")  # fmt: skip
    for one in every:
        one.transport.abort()
    await asyncio.sleep(1)


def raw_send(clients: int, rounds: int = 20) -> float:
    """Return what a send of 250 bytes costs in CPU, in seconds, without anything of ours."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=clients)
    theirs = [socket.create_connection(listening.getsockname()) for _ in range(clients)]
    ours = [listening.accept()[0] for _ in range(clients)]
    spent, data = 0.0, b"x" * 250
    for _ in range(rounds):
        before = time.process_time()
        for one in ours:
            one.send(data)
        spent += time.process_time() - before
        for one in theirs:
            one.recv(1_000)
    for one in (listening, *ours, *theirs):
        one.close()
    return spent / clients / rounds


def data_process(served: Served) -> int:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
                parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            except OSError:
                continue
            if b"bbops_server.data_plane" in words and int(parent) == served.process.pid:
                return int(folder.name)
    raise AssertionError("there is no data process")


def main(clients: int = 2_000, messages: int = 50) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = {path: text.encode() for path, text in FILES.items()}
        store.init(folder / "talk", files, message="Start")
        with Served(folder / "talk", folder / "home") as served:
            served.live()
            pid = data_process(served)
            for channel in ("news", "rooms/hall"):
                most = clients if channel == "news" else min(clients, 900)
                uvloop.run(measure(served, pid, most, messages, channel))
            print(f"kernel: {1e6 * raw_send(900):.1f} us CPU for a send")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
