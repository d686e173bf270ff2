"""Texts that have broken programs before, made here by their families: 527 of them.

Each family says what it has broken: parsers, terminals, sorters, renderers, databases, shells.
"""

# ruff: noqa: RUF001

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterator
from typing import Final

MANY: Final = 527


def hostile_texts() -> list[str]:
    """Return MANY different texts, the same ones in each run; none has half a character."""
    rounds = itertools.zip_longest(*(list(family()) for family in FAMILIES))
    every = (text for each in rounds for text in each if text is not None)
    return list(itertools.islice(dict.fromkeys(every), MANY))


def _nothing() -> Iterator[str]:
    """Empty, blank and invisible texts."""
    yield from ("", " ", "\t", "\n", "\r\n", "  x  ", "\xa0", "\u200b", "\ufeff", "\u2060", "\x85")
    yield from (chr(code) * 3 for code in range(0x2000, 0x200B))


def _words_of_machines() -> Iterator[str]:
    """What other languages take for something else than a text."""
    words = "null nil None undefined NaN Infinity true false True on off yes no void this __proto__"
    yield from words.split()
    yield from ("constructor", "hasOwnProperty", "toString", "__class__", "__init__", "then", "CON")
    yield from ("NULL", "\\N", "NUL", "aux", "COM1", ".", "..", "/", "\\", "~", "-", "--", "---")


def _numbers() -> Iterator[str]:
    """Numbers that overflow, round, or are none."""
    yield from ("0", "-0", "00", "1", "-1", "1.0", "1e3", "1E400", "-1e-400", "0x10", "0b1", "0o7")
    yield from (
        str(2**bits + way) for bits in (8, 15, 16, 31, 32, 53, 63, 64) for way in (-1, 0, 1)
    )
    yield from (
        "1,000.5",
        "1.000,5",
        "1 000",
        "1_000",
        "\u0661\u0662\u0663",
        "\u2460",
        "½",
        "1" * 400,
        "+1",
        "$1",
        "1%",
    )
    yield from (
        "2026-02-30",
        "0000-00-00",
        "9999-12-31T23:59:60Z",
        "12:30",
        "1e",
        ".5",
        "5.",
        "--1",
    )


def _code() -> Iterator[str]:
    """What is run where it is not quoted: SQL, shells, templates, pages, spreadsheets."""
    quotes = ("'", '"', "`", "''", '""', "\\'", '\\"', "'\"`", "´", "‘’", "«»")
    yield from quotes
    yield from (f"x{one} OR 1=1 --" for one in quotes)
    yield from ("Robert'); DROP TABLE notes;--", "1; SELECT pg_sleep(9)", "%' OR '1'='1", "$$ $$")
    yield from (
        "$(touch x)",
        "`touch x`",
        "; touch x",
        "| touch x",
        "&& touch x",
        "$HOME",
        "%PATH%",
    )
    yield from (
        "${ env.JWT_SECRET }",
        "${1+1}",
        "{{ 7*7 }}",
        "{% x %}",
        "<%= 7 %>",
        "#{7}",
        "$${x}",
        "${",
    )
    yield from ("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "javascript:alert(1)")
    yield from (
        "</textarea><svg onload=x>",
        "&lt;&amp;&#0;",
        "<!--",
        "-->",
        "]]>",
        "<?xml ?>",
        "<!DOCTYPE x>",
    )
    yield from (
        "=1+1",
        "@SUM(A1)",
        "+cmd|' /C x'!A0",
        "-2+3",
        "%s%n%x",
        "%00",
        "%2e%2e%2f",
        "%ff",
        "%u0041",
    )
    yield from (
        "../../../../etc/passwd",
        "..\\..\\x",
        "file:///etc/passwd",
        "C:\\x",
        "\\\\host\\x",
        "a/b?c#d&e=f;g",
    )
    yield from (
        '{"a":1}',
        "[1,2",
        '{"a":',
        "a: b",
        "- a",
        "!!python/x",
        "&a *a",
        "|",
        ">",
        "key: [",
        "# x",
    )
    yield from (
        "a\r\nSet-Cookie: x=1",
        "a\nb",
        "a\rb",
        "\x1b[31mred\x1b[0m",
        "\x07",
        "\x08\x7f",
        "a\x0bb\x0cc",
    )
    yield from ("(a+)+$", "[", "(?<x", "a{99999}", ".*", "\\", "\\\\", "\\x41", "\\u0041", "\\n")


def _controls() -> Iterator[str]:
    """Every control character, between letters."""
    yield from (f"a{chr(code)}b" for code in (*range(0x01, 0x20), *range(0x7F, 0xA0)))


def _scripts() -> Iterator[str]:
    """Scripts of the world, and directions that turn what is read."""
    starts = (
        0xC0, 0x100, 0x370, 0x400, 0x531, 0x5D0, 0x620, 0x710, 0x905, 0x985, 0xA05, 0xB85, 0xC05,
        0xD05, 0xE01, 0xE81, 0xF40, 0x1000, 0x10A0, 0x1100, 0x1200, 0x13A0, 0x1401, 0x1681, 0x16A0,
        0x1780, 0x1820, 0x2200, 0x2500, 0x2700, 0x3041, 0x30A1, 0x3105, 0x4E00, 0xA000, 0xAC00,
        0xFB50, 0xFF21, 0x10300, 0x10400, 0x12000, 0x13000, 0x1D400, 0x1F030, 0x20000, 0x2F800,
    )  # fmt: skip
    blocks = range(0x100, 0x3000, 0x40)
    yield from ("".join(chr(start + step) for step in range(6)) for start in (*starts, *blocks))
    marks = "\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u200e\u200f\u061c"
    yield from (f"abc{mark}def" for mark in marks)
    yield from (f"{mark}abc\u202c\u2069" for mark in marks)


def _shapes() -> Iterator[str]:
    """Characters of several parts, and forms that only look alike."""
    yield from (
        "é",
        "e\u0301",
        "ﬀ",
        "ſ",
        "ß",
        "ẞ",
        "İ",
        "ı",
        "K",
        "Å",
        "ǆ",
        "ά",
        "Σς",
        "ŉ",
        "\u1e9b\u0323",
    )
    people = ("👩", "👨", "🧑", "👍", "🤦", "💁")
    tones = [chr(code) for code in range(0x1F3FB, 0x1F400)]
    yield from (person + tone for person in people for tone in tones)
    yield from (
        "👨\u200d👩\u200d👧\u200d👦",
        "🏳\ufe0f\u200d🌈",
        "🇩🇪",
        "🇩🇪🇫",
        "1\ufe0f\u20e3",
        "☃\ufe0e",
        "☃\ufe0f",
    )
    yield "Z" + "".join(chr(0x300 + step) for step in range(60)) + "algo"
    yield from (
        unicodedata.normalize(form, "Ångström ﬁ ①") for form in ("NFC", "NFD", "NFKC", "NFKD")
    )


def _edges() -> Iterator[str]:
    """The ends of the code space, and characters that nobody has given a meaning."""
    codes = (0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFDD0, 0xFFFD, 0xFFFE, 0xFFFF, 0x10000)
    yield from (chr(code) for code in (*codes, 0x1FFFE, 0xE0001, 0xE0041, 0xF0000, 0x10FFFF))
    yield from (f"x{chr(code)}y" for code in (0xAD, 0x34F, 0x115F, 0x180E, 0x2028, 0x2029, 0xFFF9))


def _lengths() -> Iterator[str]:
    """Long ones, and ones without a place to break."""
    yield from (
        one * 300 for one in ("a", "ü", "漢", "😀", "\u0301", " ", "'", "\\", "%", "<", "&")
    )


FAMILIES: Final = (
    _nothing, _words_of_machines, _numbers, _code, _controls, _scripts, _shapes, _edges, _lengths,
)  # fmt: skip
