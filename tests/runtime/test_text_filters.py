"""Filters over text, and encodings: their edges and what they refuse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.runtime.values.failures import FlowError
from tests.support.filter_examples import apply


@given(st.text(max_size=20), st.integers(-25, 25), st.integers(-25, 25) | st.none())
def test_slices_count_characters_as_positions_do(text: str, start: int, end: int | None) -> None:
    piece = apply("slice", text, start, end)
    assert piece in text
    assert piece == "".join(apply("slice", list(text), start, end))


def test_a_slice_without_an_end_goes_to_the_end() -> None:
    assert apply("slice", "abc", 1) == "bc"
    assert apply("slice", [1, 2, 3], -2) == [2, 3]


@given(st.text())
def test_a_slug_is_letters_digits_and_single_hyphens(text: str) -> None:
    slug = apply("slugify", text)
    assert set(slug) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert not slug.startswith("-")
    assert not slug.endswith("-")
    assert "--" not in slug
    assert apply("slugify", slug) == slug


@pytest.mark.parametrize(
    ("text", "slug"), [("Über Ärger", "uber-arger"), ("北京", "beijing"), ("!?", ""), ("", "")]
)
def test_slugs_are_transliterated(text: str, slug: str) -> None:
    assert apply("slugify", text) == slug


def test_replace_takes_plain_text_and_leaves_nothing_alone() -> None:
    assert apply("replace", "a.c", ".", "*") == "a*c"
    assert apply("replace", "abc", "", "-") == "abc"


def test_replace_cannot_blow_a_text_up() -> None:
    with pytest.raises(FlowError, match="too long"):
        apply("replace", "x" * 1_000_000, "x", "y" * 1_000_000)


def test_split_needs_a_separator_and_bounds_its_list() -> None:
    with pytest.raises(FlowError, match="empty text"):
        apply("split", "abc", "")
    with pytest.raises(FlowError, match="too long"):
        apply("split", "," * 200_000, ",")


def test_upper_cannot_outgrow_the_longest_text() -> None:
    with pytest.raises(FlowError, match="too long"):
        apply("upper", "ß" * 900_000)


def test_join_writes_members_and_bounds_the_text() -> None:
    assert apply("join", ["a", 1, True], "-") == "a-1-true"
    assert apply("join", [], "-") == ""
    with pytest.raises(FlowError, match="null cannot be part"):
        apply("join", ["a", None], "-")
    with pytest.raises(FlowError, match="too long"):
        apply("join", ["x"] * 1_000, "y" * 10_000)


def test_contains_looks_into_texts_and_lists() -> None:
    assert not apply("contains", "Hello", "hello")
    assert apply("contains", [1, 2], 2)
    with pytest.raises(FlowError, match="'contains' needs text, found number"):
        apply("contains", "a1", 1)


def test_a_pattern_is_found_anywhere_and_counts_characters() -> None:
    assert apply("matches", "xyz", "y")
    assert apply("matches", "äöü", "^.{3}$")
    assert not apply("matches", "Y", "y")


@pytest.mark.parametrize("pattern", ["(", "(?=a)", r"(a)\1", "a{1001}", "x" * 1_001])
def test_a_pattern_that_cannot_run_in_linear_time_is_refused(pattern: str) -> None:
    with pytest.raises(FlowError, match="pattern"):
        apply("matches", "a", pattern)


def test_a_pattern_that_ruins_backtracking_engines_is_fast() -> None:
    assert not apply("matches", "a" * 5_000 + "!", "^(a+)+$")


def test_a_long_text_and_a_huge_pattern_do_not_meet() -> None:
    with pytest.raises(FlowError, match="is too long for"):
        apply("matches", "a" * 1_000_000, "((a?){100}){10}b")


@given(st.text())
def test_base64_comes_back(text: str) -> None:
    encoded = apply("base64", text)
    assert apply("base64Decode", encoded) == text
    assert apply("base64Decode", encoded.rstrip("=").translate({43: "-", 47: "_"})) == text


@pytest.mark.parametrize("text", ["a", "a b=", "ä", "/w==", "====x"])
def test_what_is_no_base64_text_is_refused(text: str) -> None:
    with pytest.raises(FlowError, match="Base64"):
        apply("base64Decode", text)


def test_encoded_text_stays_bounded() -> None:
    for name in ("base64", "urlEncode", "escapeHtml"):
        with pytest.raises(FlowError, match="too long"):
            apply(name, "&" * 900_000)


def test_html_is_escaped_in_attributes_too() -> None:
    assert apply("escapeHtml", """<a b="c" d='e'>&""") == (
        "&lt;a b=&quot;c&quot; d=&#x27;e&#x27;&gt;&amp;"
    )
