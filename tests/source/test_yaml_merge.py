"""Values that are put into a file of YAML: all of them arrive, and comments stay."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbops.base.model import plain
from bbops.source.yaml.document import load
from bbops.source.yaml.format import format_document, read_source
from bbops.source.yaml.merge import Unwritable, merge

ODD = ("a\nb", "a\n  b\n", " a\n", "\n", "no", "${ input.a }", "a: b", "- a", "#", "a #b", "1", "")
texts = st.text(max_size=30) | st.sampled_from(ODD)
keys = st.text(min_size=1, max_size=12).filter(lambda text: "${" not in text)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts
    | st.floats(allow_nan=False, allow_infinity=False, width=32),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
maps = st.dictionaries(keys, values, min_size=1, max_size=5)


@pytest.mark.long
@settings(max_examples=150, deadline=None)
@given(maps, maps)
def test_every_value_arrives(before: dict[str, Any], after: dict[str, Any]) -> None:
    text = merge(None, before)
    assert plain(load(text.encode()).root) == before
    assert plain(load(merge(read_source(text.encode()), after).encode()).root) == after


@pytest.mark.parametrize("sign", ["\u202a", "\u200f", "\u2066"])
def test_what_turns_text_around_is_written_as_an_escape(sign: str) -> None:
    text = merge(None, {f"a{sign}": f"b{sign}"})
    assert sign not in text
    assert plain(load(text.encode()).root) == {f"a{sign}": f"b{sign}"}
    assert format_document(read_source(text.encode())) == text


FILE = """\
# The notes of one person.

# who may ask
authentication: JWT  # not yet API Key
description: Notes

steps:
  # newest first
  - find: { table: notes }
    as: notes  # all of them
  # and then
  - return:
      value: ${ vars.notes }
"""


def test_comments_of_what_stays_stay() -> None:
    after = {
        "authentication": "None", "description": "Notes",
        "steps": [
            {"find": {"table": "notes", "limit": 3}, "as": "notes"},
            {"log": {"message": "hello"}},
            {"return": {"value": "${ vars.notes }"}},
        ],
    }  # fmt: skip
    assert (
        merge(read_source(FILE.encode()), after)
        == """\
# The notes of one person.

# who may ask
authentication: None  # not yet API Key
description: Notes

steps:
  # newest first
  - find: { table: notes, limit: 3 }
    as: notes  # all of them
  - log: { message: hello }
  # and then
  - return:
      value: ${ vars.notes }
"""
    )


def test_what_is_the_same_is_written_as_it_was() -> None:
    assert merge(read_source(FILE.encode()), plain(load(FILE.encode()).root)) == FILE


def test_new_values_are_in_our_style() -> None:
    value = {
        "columns": {"id": {"type": "uuid", "primaryKey": True}, "tags": {"enum": ["a", "b"]}},
        "text": "one\ntwo\n", "empty": {}, "none": [], "odd": "tab\there",
    }  # fmt: skip
    assert (
        merge(None, value)
        == """\
columns:
  id: { type: uuid, primaryKey: true }
  tags:
    enum: [a, b]
text: |
  one
  two
empty: {}
none: []
odd: "tab\\x09here"
"""
    )


def test_half_a_character_is_refused() -> None:
    with pytest.raises(Unwritable):
        merge(None, {"a": "\ud800"})
