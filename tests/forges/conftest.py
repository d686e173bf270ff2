"""A stand-in for GitHub, and clients of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from bbops_server.forges.github import GitHubForge
from tests.support.github.connected import Client, Run, open_github
from tests.support.github.server import GitHubServer
from tests.support.github.world import GitHubWorld


@pytest.fixture
def github(tmp_path: Path) -> Iterator[GitHubServer]:
    with open_github(tmp_path) as server:
        yield server


@pytest.fixture
def world(github: GitHubServer) -> GitHubWorld:
    return github.world


@pytest.fixture
def run() -> Iterator[Run]:
    """Runs coroutines in one event loop, which keeps connections open."""
    with asyncio.Runner() as runner:
        yield runner.run


@pytest.fixture
def client(github: GitHubServer, tmp_path: Path, run: Run) -> Iterator[Client]:
    client = Client(github, tmp_path)
    yield client
    run(client.aclose())


@pytest.fixture(params=["token", "app"])
def forge(client: Client, request: pytest.FixtureRequest) -> GitHubForge:
    """A client with a token, and a client of an App."""
    return client.with_token() if request.param == "token" else client.as_app()
