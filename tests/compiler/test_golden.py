"""Golden folders: a project a user could have written, and what `bbops validate` says of it.

A new case is a new folder under tests/golden/check; `pytest --update-golden` writes `expected.txt`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bbops.compiler.check import validate
from bbops.source.tree import FolderTree
from tests.conftest import ROOT

pytestmark = pytest.mark.quick

CASES = sorted(path.parent for path in (ROOT / "tests/golden/check").glob("*/project"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_validate_says_what_the_golden_folder_expects(
    case: Path, request: pytest.FixtureRequest
) -> None:
    _, diagnostics = validate(FolderTree(case / "project"))
    found = "".join(f"{diagnostic}\n" for diagnostic in diagnostics) or "no problems\n"
    expected = case / "expected.txt"
    if request.config.getoption("--update-golden"):
        expected.write_text(found)
    assert found == expected.read_text()


def test_there_are_golden_folders() -> None:
    assert len(CASES) >= 10
