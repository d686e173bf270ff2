"""The names of tools as vendors accept them."""

from __future__ import annotations

import re

import pytest

from bbops.runtime.agents.values import MOST_CHARACTERS, tool_name

pytestmark = pytest.mark.quick


def test_a_folder_becomes_two_underscores() -> None:
    assert tool_name("tickets/search-mine") == "tickets__search-mine"


@pytest.mark.parametrize("length", [1, 63, 64, 65, 200])
def test_a_name_of_any_length_is_one_that_vendors_accept(length: int) -> None:
    name = tool_name(f"a/{'b' * length}")
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name)


def test_long_names_that_begin_alike_stay_apart() -> None:
    names = {tool_name(f"{'a' * MOST_CHARACTERS}/{end}") for end in ("one", "two")}
    assert len(names) == 2
    assert all(name.startswith("a" * 50) for name in names)
