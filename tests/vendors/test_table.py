"""Each step has a library or program, a description, faults, an example and wrong uses."""

from __future__ import annotations

from dataclasses import astuple, fields

import pytest

from bbops.language.addons._base import kinds
from bbops.runtime.vendors import find_steps
from tests.vendors.table import JUDGES, PAGE, Row, functions_of, make_page, render, rows


def test_no_cell_is_empty() -> None:
    names = [one.name for one in fields(Row)]
    gaps = [
        f"{row.step}: {name}" for row in rows()
        for name, cell in zip(names, astuple(row), strict=True) if not cell.strip("() ")
    ]  # fmt: skip
    assert gaps == []


def test_every_declared_step_has_a_row_and_runs() -> None:
    declared = [f"{name}.{step}" for name, kind in kinds().items() for step in kind.actions]
    running = {f"{name}.{step}" for name in kinds() for step in find_steps(name)}
    assert [one.step for one in rows()] == declared
    assert running == {*declared}
    assert len(declared) == 55  # 54 of the eighteen addons, and smtpMail


def test_judges_name_tests_that_exist() -> None:
    missing = [
        f"{name}: {test}" for name, judge in JUDGES.items()
        for test in (*judge.right, *judge.faults) if test not in functions_of(judge.file)
    ]  # fmt: skip
    assert missing == []


def test_every_unknown_key_is_an_error() -> None:
    assert [one.step for one in rows() if "unknown-key" not in one.wrong_use] == []


def test_the_page_is_the_table(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        PAGE.write_text(make_page())
    assert PAGE.read_text() == make_page()


def test_an_empty_cell_shows_in_the_table() -> None:
    row = Row("a.b", "equal", "", "18 faults", "a.md: validates", "unknown-key")
    lines = render([row]).splitlines()
    assert lines[0] == "| step | library | description | faults | example | wrong use |"
    assert lines[2] == "| a.b | equal |  | 18 faults | a.md: validates | unknown-key |"


def test_the_names_of_steps_match_their_declaration_as_writing() -> None:
    writing = ("create", "update", "delete", "insert", "send", "transition", "save", "upload")
    models = {"aiModel", "chatModel"}  # they create answers, and change nothing
    found = {
        f"{name}.{step}" for name, kind in kinds().items() for step in kind.actions
        if step.startswith(writing) and name not in models
    }  # fmt: skip
    assert found == {f"{name}.{step}" for name, kind in kinds().items() for step in kind.writes}
