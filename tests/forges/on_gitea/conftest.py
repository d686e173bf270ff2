"""A stand-in for Gitea, and a client of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bbops_server.forges.gitea import GiteaForge
from tests.support.gitea.connected import GiteaClient, open_gitea
from tests.support.gitea.server import GiteaServer
from tests.support.gitea.world import GiteaWorld
from tests.support.github.connected import Run


@pytest.fixture
def gitea(tmp_path: Path) -> Iterator[GiteaServer]:
    with open_gitea(tmp_path) as server:
        yield server


@pytest.fixture
def world(gitea: GiteaServer) -> GiteaWorld:
    return gitea.world


@pytest.fixture
def client(gitea: GiteaServer, tmp_path: Path, run: Run) -> Iterator[GiteaClient]:
    client = GiteaClient(gitea, tmp_path)
    yield client
    run(client.aclose())


@pytest.fixture
def forge(client: GiteaClient) -> GiteaForge:
    """A client with all scopes."""
    return client.open()
