"""Each step of an addon is held by a library, a description, faults, an example and a wrong use."""

from __future__ import annotations

from dataclasses import astuple

from bbops.language.addons._base import kinds
from bbops.runtime.vendors import find_steps
from tests.vendors.table import Row, render, rows


def test_no_cell_is_empty() -> None:
    found = rows()
    assert [one for one in found if not all(astuple(one))] == []
    running = {f"{name}.{step}" for name in kinds() for step in find_steps(name)}
    assert {one.step for one in found} == running


def test_what_is_not_held_says_why() -> None:
    for one in rows():
        for cell in (one.library, one.description, one.faults):
            assert cell.strip("()"), one


def test_a_wrong_use_is_an_unknown_key() -> None:
    assert {one.wrong for one in rows()} == {"unknown-key"}


def test_the_table_is_drawn() -> None:
    lines = render([Row("a.b", "equal", "", "18 faults", "validates", "unknown-key")]).splitlines()
    assert lines[0] == "| step | library | description | faults | example | wrong |"
    assert lines[2] == "| a.b | equal |  | 18 faults | validates | unknown-key |"
