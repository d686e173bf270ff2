"""`position` against an oracle: change one source letter, load again, see which one moved."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbops.source.yaml.document import Text, load

# `q` is neither an escape nor a hexadecimal digit, so it may be changed anywhere.
WORD = st.sampled_from(["q", "qq", "éq", "q𝄞q", "${q", "q}", "q'q"])
LINE = st.lists(WORD, min_size=1, max_size=4).map(" ".join)
GAP = st.sampled_from(["\n    ", " \n     ", "\n\n    ", "\n  \n\n    ", "\r\n    ", "  "])
PARENTS = ["- ", "k: ", "- - ", "- k: ", "a:\n  k: ", "a:\n- k: "]


def innermost(value: Any) -> Text:
    while not isinstance(value, str):
        value = value[0] if isinstance(value, list) else next(reversed(value.values()))
    assert isinstance(value, Text)
    return value


def line_and_column(source: str, at: int) -> tuple[int, int]:
    lines = re.split(r"\r\n|\r|\n", source[:at])
    return len(lines), len(lines[-1]) + 1


def check_against_oracle(source: str) -> None:
    document = load(source.encode())
    assert document.problems == ()
    text = innermost(document.root)
    for letter in re.finditer("q", source):
        at = letter.start()
        changed = innermost(load((source[:at] + "Z" + source[at + 1 :]).encode()).root)
        expected = line_and_column(source, at)
        assert document.position(text.mark, changed.index("Z")) == expected


def folded_lines(data: st.DataObject, words: st.SearchStrategy[str]) -> str:
    text = data.draw(words)
    for gap in data.draw(st.lists(GAP, max_size=4)):
        text += gap + data.draw(words)
    return text


@settings(deadline=None)
@given(st.data(), st.sampled_from(PARENTS))
def test_plain_texts(data: st.DataObject, parent: str) -> None:
    text = "q" + folded_lines(data, LINE)
    check_against_oracle(f"{parent}{text}\n")


@settings(deadline=None)
@given(st.data(), st.sampled_from(PARENTS))
def test_single_quoted_texts(data: st.DataObject, parent: str) -> None:
    text = folded_lines(data, LINE).replace("'", "''")
    check_against_oracle(f"{parent}'{text}'\n")


ESCAPED = st.sampled_from(
    ["q", "q q", "\\n", "\\x41", "\\u0041q", "\\U0001D11Eq", '\\"', "\\\\", "\\ ", "'",
     "\\\n    q", "\\\n\n   q", "  \\\r\n   q"]
)  # fmt: skip


@settings(deadline=None)
@given(st.data(), st.sampled_from(PARENTS))
def test_double_quoted_texts(data: st.DataObject, parent: str) -> None:
    words = st.lists(ESCAPED, min_size=1, max_size=5).map("".join)
    check_against_oracle(f'{parent}"{folded_lines(data, words)}"\n')


BLOCK_LINE = st.one_of(
    LINE, st.sampled_from(["", " ", "   "]), LINE.map("  {}".format), LINE.map("{} ".format)
)


@settings(deadline=None)
@given(
    st.sampled_from("|>"),
    st.sampled_from(["", "-", "+"]),
    st.lists(BLOCK_LINE, max_size=7),
    st.sampled_from(PARENTS),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "next", "\n"]),
)
def test_blocks(
    style: str, chomping: str, lines: list[str], parent: str, line_break: str, end: str
) -> None:
    body = line_break.join("      " + line for line in ["q", *lines])
    check_against_oracle(f"{parent}{style}{chomping} # note{line_break}{body}{end and line_break}")


@settings(deadline=None)
@given(st.sampled_from("|>"), st.sampled_from(["", "-", "+"]), st.lists(BLOCK_LINE, min_size=1))
@pytest.mark.parametrize(
    ("parent", "indent"), [("- ", 0), ("k: ", 0), ("- - ", 2), ("a:\n  k: ", 2)]
)
def test_blocks_that_name_their_indentation(
    parent: str, indent: int, style: str, chomping: str, lines: list[str]
) -> None:
    body = "\n".join(" " * (indent + 2) + line for line in ["  q", *lines])
    check_against_oracle(f"{parent}{style}{chomping}2\n{body}\n")


def test_an_escape_stands_where_it_begins() -> None:
    document = load(b'a: "x\\u0041y\\n"\n')
    mark = document.root["a"].mark
    assert [document.position(mark, i) for i in range(5)] == [(1, c) for c in (5, 6, 12, 13, 15)]


def test_a_doubled_quote_stands_where_it_begins() -> None:
    document = load(b"- 'a''b'\n")
    assert [document.position(document.root[0].mark, i)[1] for i in range(4)] == [4, 5, 7, 8]


@pytest.mark.parametrize("source", ["x", "'x'", '"x"', "|\n  x\n", ">\n  x\n", "''", "|\n"])
def test_an_offset_outside_the_text_is_moved_inside(source: str) -> None:
    document = load(f"a: {source}\n".encode())
    mark = document.root["a"].mark
    assert document.position(mark, -5) == document.position(mark, 0)
    assert document.position(mark, 99) == document.position(mark, len(document.root["a"]))


def test_expressions_in_a_long_text_are_found_in_linear_time() -> None:
    document = load(("a: |\n" + "  ${ x }\n" * 20_000).encode())
    text = document.root["a"]
    assert document.position(text.mark, 7 * 19_999) == (20_001, 3)
    assert all(document.position(text.mark, 7 * i) for i in range(20_000))
