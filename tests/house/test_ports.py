"""Ports for tests: each belongs to one process, and the system does not give it to another."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.ports import free_port

MANY = "from tests.support.ports import free_port; print(*(free_port() for _ in range(100)))"
SYSTEM_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def test_processes_get_different_ports() -> None:
    command = [sys.executable, "-c", f"{MANY}; input()"]
    running = [
        subprocess.Popen(
            command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for _ in range(3)
    ]
    ports = [free_port() for _ in range(100)]
    for process in running:
        assert process.stdout is not None
        ports += map(int, process.stdout.readline().split())
    for process in running:
        process.communicate("\n")
    assert len(set(ports)) == len(ports) == 400


def test_a_port_of_another_server_is_not_handed_out() -> None:
    found = free_port()
    with socket.socket() as other:
        other.bind(("127.0.0.1", found + 1))
        assert free_port() != found + 1


@pytest.mark.skipif(not SYSTEM_RANGE.exists(), reason="needs Linux")
def test_a_port_is_outside_of_the_range_of_connections() -> None:
    lowest, highest = map(int, SYSTEM_RANGE.read_text().split())
    assert not lowest <= free_port() <= highest
