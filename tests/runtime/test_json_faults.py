"""The fault of a body that is not JSON is named."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.runtime.values.formats import name_json_fault


def fault(body: bytes) -> str:
    with pytest.raises((msgspec.DecodeError, UnicodeDecodeError)) as caught:
        msgspec.json.decode(body)
    return name_json_fault(body, caught.value)


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (rb'{"a": "\ud83d"}', r"'\ud83d' at byte 8 is half of a character"),
        (rb'{"a": "\ud83d and more text"}', r"'\ud83d' at byte 8 is half of a character"),
        (rb'{"a": "\ude00"}', r"'\ude00' at byte 8 is half of a character"),
        (rb'{"a": "\ud83d\ude00 \uD83D\n"}', r"'\uD83D' at byte 21 is half of a character"),
        (b'{"a": "\xe9"}', "it is not UTF-8: byte 8 does not belong there"),
        (b"\xef\xbb\xbf{}", "it begins with a byte order mark (U+FEFF)"),
        ("{}".encode("utf-16"), "it is UTF-16, expected UTF-8"),
        (b'{"a": 1', "it ends too early"),
        (b'{"a": [1e999]}', "a number is out of range"),
        (b"9" * 5_000, "a number is out of range"),
        (b"{a: 1}", "object keys must be strings (byte 1)"),
    ],
)
def test_the_fault_of_a_body_is_named(body: bytes, named: str) -> None:
    assert fault(body).startswith(named)


def test_an_escaped_backslash_is_no_half_of_a_character() -> None:
    assert fault(rb'{"a": "\\ud83d", ') == "it ends too early"


@given(st.text())
def test_whole_characters_are_never_called_halves(text: str) -> None:
    body = ascii_json(text)
    assert fault(body[:-1]) == "it ends too early"


def ascii_json(text: str) -> bytes:
    """Return a JSON list with every character above ASCII as escapes."""

    return json.dumps([text]).encode()
