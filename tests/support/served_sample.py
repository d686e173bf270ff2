"""A repository with the project template, and a server that follows it, new for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.served import Served, make_project


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_project(tmp_path / "sample")


@pytest.fixture
def served(repository: Path, tmp_path: Path) -> Iterator[Served]:
    with Served(repository, tmp_path / "home") as server:
        server.live()
        yield server
