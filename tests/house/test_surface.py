"""The names and the structure of every interface change only on purpose."""

from __future__ import annotations

from tests.house.surface import COMMAND, RECORDED, digest, read_surface


def test_the_public_surface_is_the_recorded_one() -> None:
    recorded, current = RECORDED.read_text().splitlines(), digest(read_surface())
    gone = [line for line in recorded if line not in set(current)]
    new = [line for line in current if line not in set(recorded)]
    assert (gone, new) == ([], []), f"if the change is intended, run '{COMMAND}'"


def test_a_changed_structure_changes_its_line() -> None:
    before = digest({"api": {"GET /a": {"type": "string"}}})
    assert digest({"api": {"GET /a": {"type": "integer"}}}) != before
    assert digest({"api": {"GET /a": {"type": "string"}}}) == before
