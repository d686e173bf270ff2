"""A table enters a statement in one place, so that no construct forgets its rules."""

from __future__ import annotations

import re

from tests.conftest import ROOT

READS = re.compile(r"(?:FROM|JOIN) \{quote\(|\.stored\(")
ALLOWED = {"bbops/language/sql/ruled.py", "bbops/language/sql/parts.py"}
"""They write the visible rows themselves."""


def test_only_visible_rows_are_read() -> None:
    found = {
        str(path.relative_to(ROOT))
        for folder in ("sql", "steps")
        for path in (ROOT / "bbops/language" / folder).glob("*.py")
        if READS.search(path.read_text())
    }
    assert found - {"bbops/language/steps/delete.py"} == ALLOWED  # of a table without softDelete


def test_every_write_asks_the_rules() -> None:
    """DELETE and UPDATE go through `write_rows`, which adds the condition."""
    for name in ("update", "delete"):
        text = (ROOT / f"bbops/language/steps/{name}.py").read_text()
        assert f'operation="{name}"' in text
