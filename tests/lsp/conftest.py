"""A project to edit."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import TEMPLATE


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project that `bbops init` makes."""
    root = tmp_path.resolve() / "project"
    shutil.copytree(TEMPLATE, root)
    return root
