"""One value is set in a JSON file, and everything a person wrote there stays."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.base.errors import BbopsError
from bbops.interfaces.mcp.installing.jsonc import read, write

ENTRY = {"type": "http", "url": "https://example.com/mcp"}
KEYS = ("servers", "bbops")

NAMES = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "Z")), max_size=8)
VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)  # fmt: skip
MAPS = st.dictionaries(NAMES.filter(lambda name: name != "servers"), VALUES, max_size=4)
REMARKS = st.sampled_from(["", " ", "\n", "\t", "// a, b } {\n", "/* c, \n ] */", '  // "x\n\n'])


@st.composite
def written(draw: Any) -> tuple[Any, str]:
    """Return a value, and a text for it as a person could have written it."""
    value = draw(MAPS)
    if draw(st.booleans()):
        value["servers"] = draw(MAPS)
    return value, _write(draw, value)


def _write(draw: Any, value: Any) -> str:
    gap = lambda: draw(REMARKS)  # noqa: E731 - short, and used eight times
    if isinstance(value, dict):
        parts = [
            gap() + json.dumps(name) + gap() + ":" + gap() + _write(draw, one) + gap()
            for name, one in value.items()
        ]
    elif isinstance(value, list):
        parts = [gap() + _write(draw, one) + gap() for one in value]
    else:
        return json.dumps(value)
    first, last = "{}" if isinstance(value, dict) else "[]"
    end = "," if parts and draw(st.booleans()) else ""
    return first + ",".join(parts) + end + gap() + last


@pytest.mark.long
@given(written())
def test_what_is_set_is_read_and_all_else_is_as_it_was(pair: tuple[Any, str]) -> None:
    value, text = pair
    assert read(text) == value
    made = write(text, KEYS, ENTRY)
    expected = {**value, "servers": {**value.get("servers", {}), "bbops": ENTRY}}
    assert read(made) == expected
    assert list(read(made)) == list(expected)
    assert [*filter(None, _remarks(text))] == [*filter(None, _remarks(made))]


@pytest.mark.long
@given(written())
def test_setting_a_value_twice_changes_nothing_more(pair: tuple[Any, str]) -> None:
    once = write(pair[1], KEYS, ENTRY)
    assert write(once, KEYS, ENTRY) == once


def _remarks(text: str) -> list[str]:
    """Return the comments of a text, in their order."""
    found = re.findall(r'"(?:[^"\\\n]|\\.)*"|(//[^\n]*|/\*.*?\*/)', text, re.DOTALL)
    return [one.strip() for one in found]


@pytest.mark.parametrize("text", ["", "  \n", "\ufeff", "{}", "{ }\n"])
def test_an_empty_file_becomes_a_map(text: str) -> None:
    assert read(write(text, KEYS, ENTRY)) == {"servers": {"bbops": ENTRY}}


def test_the_style_of_a_file_is_kept() -> None:
    text = '{\n\t// mine\n\t"servers": {\n\t\t"other": {"url": "x"}, // keep\n\t},\n}\n'
    assert write(text, KEYS, {"url": "y"}) == (
        '{\n\t// mine\n\t"servers": {\n\t\t"other": {"url": "x"}, // keep\n'
        '\t\t"bbops": {\n\t\t\t"url": "y"\n\t\t},\n\t},\n}\n'
    )


@pytest.mark.parametrize("text", [
    "{", "}", "[1,2", '{"a"}', '{"a":}', '{"a":1 "b":2}', "{a:1}", '{"a":1}}', "nope", '{"a": tru}',
    "{'a': 1}", "/* {", "[" * 10_000, '"' + "x" * 2_000_001,
])  # fmt: skip
def test_what_is_no_json_is_refused_and_never_changed(text: str) -> None:
    with pytest.raises(BbopsError):
        write(text, KEYS, ENTRY)


@pytest.mark.parametrize("text", ["[]", "1", '{"servers": []}', '{"servers": "x"}'])
def test_something_else_than_a_map_on_the_way_is_refused(text: str) -> None:
    with pytest.raises(BbopsError, match="must be a map"):
        write(text, KEYS, ENTRY)
