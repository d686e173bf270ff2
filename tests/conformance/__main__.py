"""Hold the server against the suites of others, and nothing else: `python -m tests.conformance`."""

from __future__ import annotations

import sys

import pytest

SUITES = (
    "tests/mcp/test_mcp_conformance.py", "tests/oauth/test_oauth_conformance.py",
    "tests/oauth/test_agents_sign_in.py", "tests/oauth/test_agents_in_chromium.py",
    "tests/mcp/test_agent_builds.py",
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(pytest.main(["-q", "-m", "long or browser", *SUITES, *sys.argv[1:]]))
