"""The SDK of MCP is imported by whoever speaks it, when somebody first asks, and by nobody else."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROTOCOL = {"mcp", "mcp_types", "starlette", "opentelemetry"}
ACCOUNTS = {"authlib", "sqlalchemy"}


@pytest.mark.long
@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("bbops_server.data_plane.serve", PROTOCOL | ACCOUNTS),
        ("bbops_server.publish.build.worker", PROTOCOL | ACCOUNTS),
        ("bbops_server.control_plane.lifecycle", PROTOCOL),
        ("bbops.interfaces.cli.mcp", PROTOCOL | {"httpx", "tomlkit"}),
    ],
)
def test_nobody_imports_what_others_are_asked_for(module: str, unwanted: set[str]) -> None:
    program = f"import sys, {module}; print(*({unwanted!r} & sys.modules.keys()))"
    command = [sys.executable, "-c", program]
    assert subprocess.check_output(command, text=True).split() == []
