"""What can be asked again, and how an answer differs from the one before."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.review.replay.recorded import Recorded, choose
from bbops.review.replay.sending import MISSING, MOST_DIFFERENCES, Sent, compare
from tests.support.recorded import request


def recorded(output: Any, status: int = 200, *, raw: str | None = None) -> Recorded:
    text = msgspec.json.encode(output).decode() if raw is None else raw
    digest = sha256(text.encode()).hexdigest()[:16]
    return Recorded("GET", "/x", {}, "", status, text, digest)


def sent(value: Any, status: int = 200) -> Sent:
    return Sent(status, value if isinstance(value, bytes) else msgspec.json.encode(value))


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [("/a", "1", "2")]),
        ({"a": 1}, {"b": 1}, [("/a", "1", MISSING), ("/b", MISSING, "1")]),
        ([1, 2], [1], [("/1", "2", MISSING)]),
        ([{"a/b": {"c~d": 1}}], [{"a/b": {"c~d": "1"}}], [("/0/a~1b/c~0d", "1", "1")]),
        ({"a": [1]}, {"a": {"0": 1}}, [("/a", "[1]", '{"0":1}')]),
        (1, True, [("", "1", "true")]),
        ({"token": "***"}, {"token": "anything"}, []),
        ({"password": "***", "a": 1}, {"password": "x", "a": 2}, [("/a", "1", "2")]),
        ("x" * 100, "y", [("", "x" * 59 + "…", "y")]),
    ],
)
def test_differences_are_told_by_their_place(before: Any, now: Any, expected: Any) -> None:
    found = compare(recorded(before), sent(now))
    assert [tuple(one) for one in found] == expected


def test_another_status_is_a_difference_too() -> None:
    found = compare(recorded({"a": 1}), sent({"a": 1}, 404))
    assert [tuple(one) for one in found] == [("status", "200", "404")]


def test_no_secret_of_the_new_answer_is_told() -> None:
    jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
    found = compare(recorded({}), sent({"secret": "s3cret", "note": f"x {jwt}"}))
    assert [tuple(one) for one in found] == [
        ("/secret", MISSING, "***"), ("/note", MISSING, "x ***"),
    ]  # fmt: skip


def test_texts_and_long_answers_are_compared_as_a_whole() -> None:
    assert compare(recorded(0, raw="<p>a</p>"), sent(b"<p>a</p>")) == []
    (found,) = compare(recorded(0, raw="<p>a</p>"), sent(b"<p>b</p>"))
    assert tuple(found) == ("", "<p>a</p>", "<p>b</p>")
    (long,) = compare(recorded(0, raw="x" * 8_000 + "…"), sent(b"y" * 9_000))
    assert long.at == ""


def test_not_all_of_many_differences_are_told() -> None:
    assert len(compare(recorded([0] * 99), sent([1] * 99))) == MOST_DIFFERENCES


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=20,
)


@given(JSON, JSON)
def test_equal_answers_have_no_difference_and_others_have_one(one: Any, other: Any) -> None:
    text = msgspec.json.encode(one)
    assert compare(recorded(one), sent(one)) == []
    if msgspec.json.encode(other) != text and one != "***":
        assert compare(recorded(one), sent(other)) or "***" in str(one) or one == other


# ---- what can be asked
def test_the_newest_of_equal_requests_is_asked() -> None:
    twice = [request(status=200), request("/y"), request(status=404)]
    found = [*choose(twice, {}, writes=False)]
    assert [(one.target, one.status) for one in found] == [("/y", 200), ("/x", 404)]


def test_only_what_was_kept_and_changes_nothing_is_asked() -> None:
    every = [request(), request("/n", exchange={}), request("/p", "POST")]
    every[1]["exchange"] = None
    assert [one.target for one in choose(every, {}, writes=False)] == ["/x"]
    assert [one.target for one in choose(every, {}, writes=True)] == ["/x", "/p"]


@pytest.mark.parametrize(
    ("change", "obstacle"),
    [
        ({"path": "/reset/***"}, "its address holds a secret"),
        ({"exchange": {"query": [["token", "***"]]}}, "its address holds a secret"),
        ({"exchange": {"headers": {"authorization": "***"}}}, "it was signed in"),
        ({"exchange": {"headers": {"cookie": "***"}}}, "it was signed in"),
        ({"exchange": {"input": '{"password":"***"}'}}, "its body holds a secret"),
        ({"exchange": {"input": '{"a":"xx…'}}, "its body is too long to be kept"),
        ({"path": "/" + "ö" * 9_000}, "its address is too long"),
        ({"status": 304}, "its response was 304 Not Modified"),
        ({"exchange": {"headers": {"x-token": "***"}}}, ""),
    ],
)
def test_what_cannot_be_asked_says_why(change: dict[str, Any], obstacle: str) -> None:
    (found,) = choose([request(**change)], {}, writes=True)
    assert found.obstacle == obstacle


def test_a_header_of_the_user_lets_signed_in_requests_be_asked() -> None:
    signed = request(exchange={"headers": {"authorization": "***", "x-own": "1", "host": "a"}})
    (found,) = choose([signed], {"authorization": "Bearer mine"}, writes=False)
    assert (found.obstacle, found.headers) == ("", {"x-own": "1", "authorization": "Bearer mine"})


def test_addresses_are_encoded_as_they_came() -> None:
    odd = request("/größe/a b?c#d%", exchange={"query": [["q", "ä&="], ["q", ""]]})
    (found,) = choose([odd], {}, writes=False)
    assert found.target == "/gr%C3%B6%C3%9Fe/a%20b%3Fc%23d%25?q=%C3%A4%26%3D&q="
