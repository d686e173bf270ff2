"""A stand-in for GitLab, and a client of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bbops_server.forges.gitlab import GitLabForge
from tests.support.github.connected import Run
from tests.support.gitlab.connected import GitLabClient, open_gitlab
from tests.support.gitlab.server import GitLabServer
from tests.support.gitlab.world import GitLabWorld


@pytest.fixture
def gitlab(tmp_path: Path) -> Iterator[GitLabServer]:
    with open_gitlab(tmp_path) as server:
        yield server


@pytest.fixture
def world(gitlab: GitLabServer) -> GitLabWorld:
    return gitlab.world


@pytest.fixture
def client(gitlab: GitLabServer, tmp_path: Path, run: Run) -> Iterator[GitLabClient]:
    client = GitLabClient(gitlab, tmp_path)
    yield client
    run(client.aclose())


@pytest.fixture
def forge(client: GitLabClient) -> GitLabForge:
    """A client with the scope `api`."""
    return client.open()
