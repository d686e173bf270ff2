"""Let pytest collect the tests of the project it was started in: tests/**.yaml.

Installed with bbops, so it is loaded by every pytest: what is large waits for a first test.
"""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of `bbops test` that says which database the cases run on."""
    parser.getgroup("bbops").addoption(
        "--bbops-database-url", metavar="URL", default="",
        help="run the cases of a bbops project on PostgreSQL, in temporary schemas",
    )  # fmt: skip


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Take a test of the project in pytest's root folder, or above it; no other project's."""
    if file_path.suffix != ".yaml":
        return None
    root = next(
        (one for one in (parent.config.rootpath, *parent.config.rootpath.parents)
         if (one / "project.yaml").is_file()), None,
    )  # fmt: skip
    if root is None or not file_path.is_relative_to(root / "tests"):
        return None
    from bbops.compiler.testing.pytest_cases import TestFile  # noqa: PLC0415 - the compiler

    found: TestFile = TestFile.from_parent(parent, path=file_path)
    found.root = root
    return found
