"""Filters over text; positions count characters from 0, negative ones from the end."""

from __future__ import annotations

import html
import re
from typing import Any, Final
from urllib.parse import quote

from anyascii import anyascii

from bbops.runtime.values import operators
from bbops.runtime.values.failures import BadValue, WrongKind
from bbops.runtime.values.filters._registry import (
    Arrow,
    add_filter,
    asked,
    need_integer,
    need_list,
    need_text,
    refused,
)
from bbops.runtime.values.regex import has_match, matches_of, replace_matches
from bbops.runtime.values.values import bounded_text, check_count, check_length, encode_text, paid

_NOT_IN_SLUGS: Final = re.compile("[^a-z0-9]+")


@add_filter(
    "toString",
    ("12.5 | toString", "12.5"),
    takes="text number boolean datetime date",
    gives="text",
)
def to_string(value: Any) -> str:
    """The value as it stands inside a longer text."""
    return operators.text(value)


@add_filter("lower", ("'Ada' | lower", "ada"), takes="text", gives="text")
def lower(value: Any) -> str:
    """The text in small letters."""
    return bounded_text(need_text(value, "lower").lower())


@add_filter("upper", ("'Ada' | upper", "ADA"), takes="text", gives="text")
def upper(value: Any) -> str:
    """The text in capital letters."""
    return bounded_text(need_text(value, "upper").upper())


@add_filter(
    "trim",
    ("'  Ada ' | trim", "Ada"),
    takes="text",
    gives="text",
)
def trim(value: Any) -> str:
    """The text without white space at its ends."""
    return paid(need_text(value, "trim").strip())


@add_filter(
    "replace",
    ("'a.b.c' | replace('.', '-')", "a-b-c"),
    takes="text",
    gives="text",
)
def replace(value: Any, old: Any, new: Any) -> str:
    """The text with every `a` replaced by `b`; plain text, no pattern."""
    found, old, new = (need_text(part, "replace") for part in (value, old, new))
    if not old:  # as databases do; Python would write `new` between all characters
        return found
    check_length(len(found) + found.count(old) * (len(new) - len(old)))
    return found.replace(old, new)


@add_filter(
    "split",
    ("'a,b' | split(',')", ["a", "b"]),
    takes="text",
    gives="list",
)
def split(value: Any, separator: Any) -> list[str]:
    """The pieces of the text between separators."""
    found, mark = need_text(value, "split"), need_text(separator, "split")
    if not mark:
        raise BadValue("'split' needs a separator, found an empty text")
    check_count(found.count(mark) + 1)
    check_length(len(found))
    return found.split(mark)


@add_filter(
    "startsWith",
    ("'hello' | startsWith('he')", True),
    takes="text",
    gives="boolean",
)
def starts_with(value: Any, other: Any) -> bool:
    """Whether the text begins with another; case counts."""
    return need_text(value, "startsWith").startswith(need_text(other, "startsWith"))


@add_filter(
    "endsWith",
    ("'hello' | endsWith('lo')", True),
    takes="text",
    gives="boolean",
)
def ends_with(value: Any, other: Any) -> bool:
    """Whether the text ends with another; case counts."""
    return need_text(value, "endsWith").endswith(need_text(other, "endsWith"))


@add_filter(
    "matches",
    ("'order-17' | matches('-[0-9]+$')", True),
    takes="text",
    gives="boolean",
)
def matches(value: Any, pattern: Any) -> bool:
    """Whether a regular expression (RE2) is found anywhere in the text."""
    return has_match(need_text(pattern, "matches"), need_text(value, "matches"))


@add_filter(
    "findAll",
    ("'a1 b22' | findAll('[0-9]+')", ["1", "22"]),
    takes="text",
    gives="list",
)
def find_all(value: Any, pattern: Any) -> list[str]:
    """Every part of the text that a regular expression (RE2) finds, from left to right."""
    return paid(matches_of(need_text(pattern, "findAll"), need_text(value, "findAll")))


@add_filter(
    "replaceAll",
    (r"'7-2026' | replaceAll('([0-9]+)-([0-9]+)', '\\2/\\1')", "2026/7"),
    takes="text",
    gives="text",
)
def replace_all(value: Any, pattern: Any, to: Any) -> str:
    r"""The text with what a regular expression (RE2) finds replaced; `\\1` is its first group."""
    found, wanted, other = (need_text(part, "replaceAll") for part in (value, pattern, to))
    return bounded_text(replace_matches(wanted, found, other))


@add_filter(
    "slugify",
    ("'Crème Brûlée!' | slugify", "creme-brulee"),
    takes="text",
    gives="text",
)
def slugify(value: Any) -> str:
    """The text as part of an address: a-z, 0-9 and '-', transliterated; may be empty."""
    found = need_text(value, "slugify")
    plain = found if found.isascii() else anyascii(found)
    return bounded_text(_NOT_IN_SLUGS.sub("-", plain.lower()).strip("-"))


@add_filter(
    "urlEncode",
    ("'a b/c' | urlEncode", "a%20b%2Fc"),
    takes="text",
    gives="text",
)
def url_encode(value: Any) -> str:
    """The text as one part of an address, everything but letters, digits and '_.-~' encoded."""
    return bounded_text(quote(encode_text(need_text(value, "urlEncode")), safe=""))


@add_filter(
    "escapeHtml",
    ("'1 < 2' | escapeHtml", "1 &lt; 2"),
    takes="text",
    gives="text",
)
def escape_html(value: Any) -> str:
    """The text with '<', '>', '&' and quotes written so that HTML shows them."""
    return bounded_text(html.escape(need_text(value, "escapeHtml")))


@add_filter(
    "length",
    ("'Ada' | length", 3),
    takes="text list map",
    gives="integer",
)
def length(value: Any, test: Arrow | None = None) -> int:
    """The number of characters, members or keys; of a list also of those a condition holds for."""
    if test is not None:
        return sum(map(operators.truth, asked(need_list(value, "length"), test)))
    if type(value) is str or type(value) is list or type(value) is dict:
        return len(value)
    raise WrongKind(refused("length", "a text, a list or a map", value))


@add_filter(
    "slice",
    ("'abcdef' | slice(1, -2)", "bcd"),
    takes="text list",
    gives="same",
)
def take_slice(value: Any, start: Any, end: Any = None) -> Any:
    """The part of a text or list from one position up to, not including, another."""
    first = need_integer(start, "slice")
    last = None if end is None else need_integer(end, "slice")
    if type(value) is str or type(value) is list:
        return paid(value[first:last])
    raise WrongKind(refused("slice", "a text or a list", value))


@add_filter(
    "contains",
    ("'hello' | contains('ell')", True),
    takes="text list",
    gives="boolean",
)
def contains(value: Any, other: Any) -> bool:
    """Whether a text holds another (case counts), or a list a member."""
    if type(value) is str:
        return need_text(other, "contains") in value
    if type(value) is list:
        return operators.is_in(other, value)
    raise WrongKind(refused("contains", "a text or a list", value))
