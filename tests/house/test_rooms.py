"""The rooms of the house: no circle at any depth, and ARCHITECTURE.md names each of them."""

from __future__ import annotations

import re

import pytest

from tests.conftest import ROOT
from tests.house.draw import HOUSES, Floor, draw, find_circle, main, packages

QUICK = "\npytestmark = pytest.mark.quick\n"
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


@pytest.mark.long
def test_no_package_has_a_circle_among_its_rooms() -> None:
    assert {one.name: one.circle for one in map(draw, packages()) if one.circle} == {}


def test_a_circle_is_found() -> None:
    circle = find_circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})
    assert sorted(circle[1:]) == ["a", "b", "c"]
    assert "circle a > b > a" in str(Floor("house", {"a": {"b"}, "b": {"a"}}, ("a", "b", "a")))


@pytest.mark.parametrize("house", HOUSES)
def test_the_page_about_the_house_names_each_room_and_what_is_in_it(house: str) -> None:
    table = PAGE.partition(f"| `{house}/` |")[2].partition("\n\n")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|$", table, re.MULTILINE))
    rooms = [one for one in draw(house).arrows if not one.startswith("_")]
    assert sorted(rows) == sorted(rooms)
    for room, inside in rows.items():
        named = set(re.findall(r"`(\w+)`", inside))
        assert named <= set(draw(f"{house}.{room}").arrows), room


def test_the_house_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bbops.review"]) == 0
    assert capsys.readouterr().out == (
        "bbops.review: rooms 4, floors 2, arrows 2\n  outline | plan\n  contract | replay\n"
    )


@pytest.mark.parametrize("house", HOUSES)
def test_the_quick_tests_look_into_each_room(house: str) -> None:
    rooms = {one for one in draw(house).arrows if not one.startswith("_")}
    files = (one.read_text(encoding="utf-8") for one in (ROOT / "tests").rglob("test_*.py"))
    quick = "".join(one for one in files if QUICK in one)
    assert set(re.findall(rf"^from {house}\.(\w+)", quick, re.MULTILINE)) >= rooms


def test_no_test_imports_a_test() -> None:
    imports = re.compile(r"^\s*from (tests(?:\.\w+)*\.test_\w+) import", re.MULTILINE)
    files = [one for one in (ROOT / "tests").rglob("*.py") if "__pycache__" not in one.parts]
    found = {one.name: imports.findall(one.read_text(encoding="utf-8")) for one in files}
    assert {name: modules for name, modules in found.items() if modules} == {}
