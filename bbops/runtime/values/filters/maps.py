"""Filters over maps and JSON, and `default`."""

from __future__ import annotations

from typing import Any

import msgspec

from bbops.runtime.values.failures import BadValue
from bbops.runtime.values.filters._registry import add_filter, need_map, need_text
from bbops.runtime.values.formats import name_json_fault
from bbops.runtime.values.values import (
    MAX_TEXT,
    bounded_text,
    check_count,
    check_size,
    encode_text,
    paid,
)


@add_filter(
    "default",
    ("null | default('none')", "none"),
    takes="any",
    gives="same",
    accepts_null=True,
)
def default(value: Any, other: Any) -> Any:
    """Another value in the place of null, and only of null."""
    return other if value is None else value


@add_filter(
    "has",
    ("""'{"bio": null}' | parseJson | has('bio')""", True),
    takes="map",
    gives="boolean",
    accepts_null=True,
)
def has(value: Any, name: Any) -> bool:
    """Whether the map has a key of that name, be its value null or not."""
    return value is not None and need_text(name, "has") in need_map(value, "has")


@add_filter(
    "omit",
    ("""'{"a": 1, "b": 2}' | parseJson | omit('b')""", {"a": 1}),
    takes="map",
    gives="map",
)
def omit(value: Any, name: Any, *names: Any) -> dict[str, Any]:
    """The map without the keys of these names."""
    left_out = _names(name, names, "omit")
    return paid({key: item for key, item in need_map(value, "omit").items() if key not in left_out})


@add_filter(
    "pick",
    ("""'{"a": 1, "b": 2}' | parseJson | pick('a', 'c')""", {"a": 1}),
    takes="map",
    gives="map",
)
def pick(value: Any, name: Any, *names: Any) -> dict[str, Any]:
    """The map with only the keys of these names, as far as it has them."""
    wanted = _names(name, names, "pick")
    return paid({key: item for key, item in need_map(value, "pick").items() if key in wanted})


@add_filter(
    "merge",
    ("""'{"a": 1}' | parseJson | merge('{"b": 2}' | parseJson)""", {"a": 1, "b": 2}),
    takes="map",
    gives="map",
)
def merge(value: Any, other: Any) -> dict[str, Any]:
    """The map with the keys of another added; those replace equal ones."""
    merged = {**need_map(value, "merge"), **need_map(other, "merge")}
    check_count(len(merged))
    return merged


@add_filter(
    "json",
    ("[1, null] | json", "[1,null]"),
    takes="any",
    gives="text",
    accepts_null=True,
)
def write_json(value: Any) -> str:
    """The value as compact JSON text."""
    check_size(value, MAX_TEXT)
    try:
        return bounded_text(msgspec.json.encode(value).decode())
    except RecursionError:
        raise BadValue("the value is nested too deeply for JSON") from None
    except UnicodeEncodeError:
        raise BadValue("the text contains an unpaired surrogate (a lone surrogate)") from None


@add_filter(
    "parseJson",
    ("'[1, true]' | parseJson", [1, True]),
    takes="text",
    gives="any",
)
def parse_json(value: Any) -> Any:
    """What a JSON text stands for."""
    data = encode_text(bounded_text(need_text(value, "parseJson")))
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        reason = name_json_fault(data, error)
        raise BadValue(f"'parseJson' needs JSON: {reason}", said="must be JSON") from None
    except RecursionError:
        raise BadValue("'parseJson' needs JSON that is not nested so deeply") from None


def _names(name: Any, names: tuple[Any, ...], who: str) -> frozenset[str]:
    listed = name if type(name) is list else [name]
    return frozenset(need_text(key, who) for key in (*listed, *names))
