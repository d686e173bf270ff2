"""Patterns of CODEOWNERS take a bounded number of steps, whatever a file contains."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bbops_server.publish.forge_reviews.owners import (
    MAX_SIZE,
    CodeOwners,
    parse_owners,
    parse_sections,
)

pytestmark = pytest.mark.quick

READERS = pytest.mark.parametrize("parse", [parse_owners, parse_sections])
Parse = Callable[[str], CodeOwners]
LONG = "a" * 4_000


@READERS
@pytest.mark.parametrize("pattern", [
    "*a" * 40 + "b", "a*" * 40 + "b", "**/*a" * 40 + "/b", "/" + "*?" * 40 + "b", "*" * 40 + "b",
    "**/" * 40 + "b",
])  # fmt: skip
def test_pattern_of_many_stars_takes_few_steps_for_each_byte(parse: Parse, pattern: str) -> None:
    owners = parse(f"{pattern} @ada\n")
    ((rule,),) = owners.sections
    assert rule.pattern.size * len(LONG) < 4_000_000
    for path in (LONG, LONG[:2_000] + "/" + LONG[:1_999], "a/" * 2_000):
        assert owners.owners_of(path) == ()


@READERS
def test_pattern_of_many_stars_matches_a_long_path(parse: Parse) -> None:
    assert parse("*a" * 40 + "b @ada\n").owners_of(f"{LONG}b") == ("ada",)


@READERS
@pytest.mark.parametrize("pattern", ["?" * 100_000, "a" * (MAX_SIZE + 1), "**/" * 10_000 + "*b*"])
def test_too_large_pattern_is_unsupported_or_small(parse: Parse, pattern: str) -> None:
    owners = parse(f"* @ada\n{pattern} @bob\n")
    sizes = [rule.pattern.size for rules in owners.sections for rule in rules]
    assert owners.unsupported == (2,) or max(sizes) < 100


def test_heading_without_an_end_is_read_once() -> None:
    assert parse_sections(f"[{LONG * 100}\n").unsupported == (1,)
    assert parse_sections("[ ]\n").unsupported == (1,)


@READERS
def test_letters_outside_ascii_are_one_character(parse: Parse) -> None:
    owners = parse("/docs/?.md @ada\n/über/* @bob\n")
    assert owners.owners_of("docs/ä.md") == ("ada",)
    assert owners.owners_of("über/a") == ("bob",)
