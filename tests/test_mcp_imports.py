"""The SDK of MCP is imported by whoever speaks it, when somebody first asks, and by nobody else."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("mcp", "mcp_types", "starlette", "jsonschema", "opentelemetry")


@pytest.mark.parametrize(
    "module",
    [
        "bbops_server.data.serve", "bbops_server.build.worker", "bbops_server.control.opening",
        "bbops.cli.mcp", "bbops_server.mcp.tables",
    ],
)  # fmt: skip
def test_nothing_imports_the_protocol_before_it_is_asked_for(module: str) -> None:
    assert loaded_by(module) == []


def test_what_serves_and_builds_projects_knows_no_sign_in() -> None:
    for module in ("bbops_server.data.serve", "bbops_server.build.worker"):
        assert loaded_by(module, "authlib", "sqlalchemy") == []


def test_the_servers_of_agents_do() -> None:
    assert "mcp" in loaded_by("bbops_server.mcp.servers")


def loaded_by(module: str, *names: str) -> list[str]:
    """Return which of some packages are there after a module was imported."""
    program = f"import sys, {module}; print(*({set(names or HEAVY)!r} & sys.modules.keys()))"
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
