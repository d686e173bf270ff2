"""YAML files become values with places, or problems with cures; nothing raises."""

from __future__ import annotations

import pickle
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bbops.source.yaml.document import MAX_BYTES, Document, Map, Seq, Text, load, load_with
from bbops.source.yaml.events import Parse, parse_with_c, parse_with_ruamel

pytestmark = pytest.mark.quick

PARSERS = [parse_with_c, parse_with_ruamel]


def codes(source: str) -> list[str]:
    return [problem.code for problem in load(source.encode()).problems]


def first(source: str) -> tuple[int, int, str]:
    problem = load(source.encode()).problems[0]
    return problem.line, problem.column, problem.code


def hint(source: str) -> str:
    return load(source.encode()).problems[0].hint


def test_values_know_their_places() -> None:
    root = load(b"a: x\nb:\n  - 1\n  - 'y'\n").root
    assert isinstance(root, Map)
    assert isinstance(root["a"], Text)
    assert isinstance(root["b"], Seq)
    assert root["a"].mark == (1, 4, 3, 4, "")
    assert root["b"].mark[:2] == (3, 3)
    assert root.keys_at["b"][:2] == (2, 1)
    assert root.values_at["b"] == root["b"].mark
    assert root["b"].items_at[1] == (4, 5, 18, 21, "'")


def test_a_left_out_value_stands_after_its_colon() -> None:
    assert load(b"a:\nb: 1\n").root.values_at["a"] == (1, 3, 2, 2, "")


def test_columns_count_code_points() -> None:
    root = load("é𝄞: ü\n".encode()).root
    assert root.values_at["é𝄞"][:2] == (1, 5)


def test_a_block_ends_with_its_last_value() -> None:
    root = load(b"a:\n  b: x\n\n# end\nc: y\n").root
    assert root["a"].mark.end == 9


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"), ("no", "no"), ("yes", "yes"), ("2026-11-20", "2026-11-20"),
        ("1_000", "1_000"), ("12:30", "12:30"), ("12:30:45", "12:30:45"), ("=", "="),
        ("012", 12), ("0o17", 15), ("0x1F", 31), ("-7", -7), ("+7", 7), ("1.5", 1.5),
        (".5", 0.5), ("1e3", 1000.0), ("1.", 1.0), ("~", None), ("null", None),
        ("true", True), ("FALSE", False), ("-.inf", float("-inf")), ("-0x1", "-0x1"),
        ("9223372036854775807", 2**63 - 1), ("24h", "24h"), (":id", ":id"), ("٣", "٣"),
    ],
)  # fmt: skip
def test_plain_scalars_follow_the_core_schema(text: str, value: object) -> None:
    root = load(f"a: {text}\n".encode()).root
    assert root["a"] == value
    assert isinstance(root["a"], type(value))


@pytest.mark.parametrize("text", ["9223372036854775808", "1e999", "9" * 5000, "0x" + "f" * 17])
def test_numbers_beyond_64_bits_are_a_problem(text: str) -> None:
    assert first(f"a: {text}\n") == (1, 4, "number-too-large")


def test_keys_are_always_texts() -> None:
    assert load(b"1: a\ntrue: b\n~: c\n0x1: d\n").root == {
        "1": "a",
        "true": "b",
        "~": "c",
        "0x1": "d",
    }


def test_a_key_set_twice_keeps_its_first_value() -> None:
    document = load(b'a: 1\nb: 2\n"a": {c: 1, c: 2}\n')
    assert document.root == {"a": 1, "b": 2}
    assert [(p.line, p.column, p.hint) for p in document.problems] == [
        (3, 1, "first set on line 1"),
        (3, 13, "first set on line 3"),
    ]


def test_every_problem_of_a_file_is_reported() -> None:
    source = "a: &x 1\nb: *x\nc: !t 2\n<<: {}\nd: {{ e }}\na: 3\n"
    assert codes(source) == [
        "yaml-anchor", "yaml-anchor", "yaml-tag", "yaml-merge", "yaml-key", "duplicate-key",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "place", "cure"),
    [
        ("a: {b: ${ x } }\n", (1, 8, "yaml-syntax"), "with quotes"),
        ("a:\n  - [${ x }]\n", (2, 6, "yaml-syntax"), "with quotes"),
        ("a: b: c\n", (1, 5, "yaml-syntax"), "must be quoted"),
        ("a: ${ x ? y : z }\n", (1, 13, "yaml-syntax"), "must be quoted"),
        ("- ${ x ? y : z }\n", (1, 3, "expression-key"), "quote the whole value"),
        ("a: {{ x }}\n", (1, 4, "yaml-key"), "expressions are written ${ … }"),
        ("{{ x }}: 1\n", (1, 1, "yaml-key"), "expressions are written ${ … }"),
        ("? [a]\n: b\n", (1, 3, "yaml-key"), ""),
        ("every: */5 * * * *\n", (1, 8, "yaml-anchor"), "cron"),
        ("every: * * * * *\n", (1, 8, "yaml-anchor"), "cron"),
        ("a: @x\n", (1, 4, "yaml-syntax"), "starts with '@'"),
        ("a: `x`\n", (1, 4, "yaml-syntax"), "starts with '`'"),
        ("a: %x\n", (1, 4, "yaml-syntax"), "starts with '%'"),
        ("a: > 5\n", (1, 4, "yaml-syntax"), "starts with '>'"),
        ("if: 'a' == x\n", (1, 9, "yaml-syntax"), "quote the whole value"),
        ("a: 'it's'\n", (1, 8, "yaml-syntax"), "written twice"),
        ("a: 'x\nb: 1\n", (1, 4, "yaml-syntax"), "written twice"),
        ("a:\n\tb: c\n", (2, 1, "yaml-syntax"), "spaces, not tabs"),
        ("a: 1\n  \tb: c\n", (2, 3, "yaml-syntax"), "spaces, not tabs"),
        ("a: 1\n  b: 2\n", (2, 4, "yaml-syntax"), "indentation"),
        ("a:\n  b: 1\n c: 2\n", (3, 2, "yaml-syntax"), "indentation"),
        ("a: - b\n", (1, 4, "yaml-syntax"), "next line"),
        ("a: 1\nfoo\nb: 2\n", (2, 1, "yaml-syntax"), "key: value"),
        ('a: "C:\\users"\n', (1, 7, "yaml-syntax"), "single quotes"),
        ("%YAML 1.1\n---\na: 1\n", (1, 1, "yaml-syntax"), ""),
        ("a: 1\n---\nb: 2\n", (2, 1, "yaml-documents"), "put one resource in each file"),
        ("a: !!python/object:os.system x\n", (1, 4, "yaml-tag"), "quote"),
    ],
)  # fmt: skip
def test_the_usual_mistakes_have_a_place_and_a_cure(
    source: str, place: tuple[int, int, str], cure: str
) -> None:
    assert first(source) == place
    assert cure in hint(source)


def test_a_file_that_cannot_be_read_to_its_end_has_no_root() -> None:
    document = load(b"a: 1\nb: [\n")
    assert document.root is None
    assert document.source == "a: 1\nb: [\n"


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"a: \xff\n", (1, 4)),
        (b"\xef\xbb\xbfa: 1\nb: \xff\n", (2, 4)),
        ("a: 1\n".encode("utf-16"), (1, 1)),
        (b"a: 1\nb: x\x00\n", (2, 5)),
        ("a: x\u2028y\n".encode(), (1, 5)),
        (b"a: x\x85y\n", (1, 5)),
    ],
)
def test_only_clean_utf8_is_read(data: bytes, place: tuple[int, int]) -> None:
    (problem,) = load(data).problems
    assert (problem.line, problem.column) == place
    assert problem.code == "yaml-encoding"


@pytest.mark.parametrize("character", "\u061c\u200e\u200f\u202a\u202e\u2066\u2069")
@pytest.mark.parametrize(("text", "place"), [("a: x{}y\n", (1, 5)), ("b: 1\na{}: 1\n", (2, 2))])
@pytest.mark.parametrize("parser", PARSERS)
def test_what_turns_text_around_is_refused_in_plain_text(
    character: str, text: str, place: tuple[int, int], parser: Parse
) -> None:
    document = load_with(text.format(character).encode(), parser)
    (problem,) = document.problems
    assert (problem.code, problem.line, problem.column) == ("text-direction", *place)
    assert document.warnings == ()


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('a: "x\u202ey"\n', (1, 6)),
        ("a: 'x\u202ey'\n", (1, 6)),
        ("a: |\n  x\u202ey\n", (2, 4)),
        ("a: 1 # x\u202ey\nb: 2\n", (1, 9)),
        ("# \u2067\na: 1\n", (1, 3)),
    ],
)
@pytest.mark.parametrize("parser", PARSERS)
def test_what_turns_text_around_is_pointed_out_in_comments_and_quoted_texts(
    text: str, place: tuple[int, int], parser: Parse
) -> None:
    document = load_with(text.encode(), parser)
    assert document.problems == ()
    (warning,) = document.warnings
    assert (warning.code, warning.line, warning.column) == ("text-direction", *place)


def test_an_escape_that_turns_text_around_is_seen_by_everybody() -> None:
    document = load(b'a: "x\\u202ey"\n')
    assert (document.problems, document.warnings) == ((), ())
    assert document.root == {"a": "x\u202ey"}


def test_a_byte_order_mark_is_dropped() -> None:
    document = load(b"\xef\xbb\xbfa: b\n")
    assert document.root == {"a": "b"}
    assert document.root.values_at["a"][:2] == (1, 4)


def test_a_huge_file_is_refused_unread() -> None:
    assert load(b"a" * (MAX_BYTES + 1)).problems[0].code == "yaml-too-large"


@pytest.mark.long
def test_too_many_values_are_refused() -> None:
    assert codes("[" + "a," * 100_001 + "]") == ["yaml-too-large"]


@pytest.mark.parametrize("source", ["[" * 10_000, "{a: " * 10_000, "- " * 10_000, "? " * 10_000])
@pytest.mark.parametrize("parse", [parse_with_c, parse_with_ruamel])
def test_deep_nesting_is_refused_fast(source: str, parse: object) -> None:
    start = time.process_time()
    problems = load_with(source.encode(), parse).problems  # type: ignore[arg-type]
    assert problems[-1].code == "yaml-too-deep"
    assert time.process_time() - start < 5


def test_an_alias_bomb_is_refused_fast() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 20)]
    start = time.process_time()
    assert set(codes("\n".join(lines))) == {"yaml-anchor"}
    assert time.process_time() - start < 5


def test_blank_lines_before_the_text_cost_linear_time() -> None:
    start = time.process_time()
    load(b"\r\n" * 400_000)
    assert time.process_time() - start < 5


def test_an_empty_file_has_no_root_and_no_problem() -> None:
    assert load(b"# nothing\n") == Document(None, "# nothing\n", ())


def test_a_document_survives_pickling() -> None:
    document = load(b"a: [x]\n")
    assert pickle.loads(pickle.dumps(document)).root["a"][0].mark == (1, 5, 4, 5, "")


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_make_it_raise(data: bytes) -> None:
    load(data)


PIECES = [
    "a", "b: ", "- ", "\n", "  ", "\n  ", "{", "}", "[", "]", ", ", "'", '"', "|", "|2", ">", "+",
    "# c", "${ x }", "&a ", "*a", "!t ", "<<: ", "? ", ": ", "\\", "\t", "é", "1", "true", "---",
    "...", "%", "@", "\r\n", "\n\n", "\n- ", "\na: ", "k: |\n  x\n", "1e3", "\\u0041", "\r",
]  # fmt: skip


@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
@example("a: \\ud800")
def test_no_text_makes_it_raise_and_its_places_exist(source: str) -> None:
    for parse in (parse_with_c, parse_with_ruamel):
        document = load_with(source.encode(), parse)
        lines = len(source.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
        assert all(1 <= p.line <= lines and p.column >= 1 for p in document.problems)


SAME = [
    "a: |\n  x\n  y\n\nb: c d\n  e\n", "é𝄞: b 𝄞\nc:\nd: 1\n", "a: {b: c, d, ? e}\n", "- - a\n  -\n",
    "a: {u: http://x, p: /posts/:id, q: a?}\n", "a:\r\n  - b\r\n", "a: |2\n    x\n   y\n",
    "[a: b, {c: d}]\n", "- # c\n  a: 1\n-\n- b\n", "a: >-\n  x\n\n   y\n", "a: !t b\nc: &x d\n",
    "a: {{ x }}\n", "a: {b: ${ x } }\n", "a: b: c\n", "a:\n\tb: c\n", "s: */5 * * * *\n", "a: @x\n",
    "a: 'b' c\n", "a: 'x\n", "{a: b", "a: [1,\n", "- a\nb: c\n", 'a: "\\q"\n', "a: 1\nfoo\n",
    'a: "\\ud83d"\n', 'a: "\\x4"\n', "a: - b\n", "x: &a/b 1\n", "a: |x\n", "[a, b]]\n",
    "a: !{b}\n", "a: &\n", "a: 99999999999999999999\n", "a: 1\na: 2\n", "*a : 1\n", "", "#\n",
    "a: b\n...\nc\n",
]  # fmt: skip


@pytest.mark.parametrize("source", SAME)
def test_both_parsers_give_the_same_document(source: str) -> None:
    documents = [load_with(source.encode(), parse) for parse in (parse_with_c, parse_with_ruamel)]
    assert documents[0] == documents[1]
    assert places(documents[0].root) == places(documents[1].root)


def places(value: object) -> object:
    if isinstance(value, Map):
        return value.mark, value.keys_at, value.values_at, [places(v) for v in value.values()]
    if isinstance(value, Seq):
        return value.mark, value.items_at, [places(v) for v in value]
    return getattr(value, "mark", None)
