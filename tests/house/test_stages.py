"""Files that a stage passes over have no test of it: `pytest_ignore_collect` reads their text."""

from __future__ import annotations

import re

from tests.conftest import ROOT, STAGES

MARK = re.compile(rf"mark\.({'|'.join(STAGES)})\b")


def test_markers_of_stages_stand_in_the_files_of_tests() -> None:
    elsewhere = {
        str(path.relative_to(ROOT / "tests"))
        for path in (ROOT / "tests").rglob("*.py")
        if not path.name.startswith("test_") and MARK.search(path.read_text())
    }
    assert elsewhere == {"support/postgres.py", "support/shop.py"}, (
        "by SLOW_DATABASES, and the fixture shop"
    )
