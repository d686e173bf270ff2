"""No request is refused, and no answer is a new one, without a break that says so."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from bbops.language.json_schema import Schema, shape_schema
from bbops.language.shape import Shape, shape_spec
from bbops.review.plan.requests import schema_breaks, shape_breaks
from bbops.runtime.values.shapes import compile_shape

SHAPES = TypeAdapter(Shape)
BASES = (
    "string", "text", "integer", "number", "boolean", "datetime", "date", "uuid", "email", "url",
    "json",
)  # fmt: skip
ONES: list[Any] = [
    None, "", "a", "abc", "2026-01-02", "2026-01-02T03:04:05Z", "ada@example.com",
    "https://example.com", "0b0f6b9e-6d6f-4b6e-8f8e-0d9c1a2b3c4d", 0, 1, 7, 1.5, True, False,
    {}, {"a": 1}, {"a": "x", "b": 2},
]  # fmt: skip
VALUES = [*ONES, [], *([one] for one in ONES), [1, 2, 3], ["a", "abc", "b"]]

RULES: list[tuple[str, Any]] = [
    ("minLength", 2), ("minLength", 1), ("maxLength", 2), ("maxLength", 1), ("minimum", 1),
    ("minimum", 0), ("maximum", 1), ("maximum", 5), ("pattern", "^a"), ("pattern", "b"),
    ("enum", ["a"]), ("enum", ["a", "abc"]), ("enum", [1]), ("enum", [1, 7]),
]  # fmt: skip

limits = st.fixed_dictionaries(
    {},
    optional={
        "minLength": st.integers(0, 3), "maxLength": st.integers(0, 4),
        "minimum": st.integers(-1, 3), "maximum": st.integers(0, 8),
        "pattern": st.sampled_from(["^a", "b", "^[0-9]+$"]),
        "enum": st.lists(st.sampled_from(["a", "abc", "", 1, 7]), min_size=1, max_size=3),
    },
)  # fmt: skip
short = st.builds("{}{}{}".format, st.sampled_from(BASES), st.sampled_from(["", "[]"]),
                  st.sampled_from(["", "?"]))  # fmt: skip
ruled = st.sampled_from(["string", "text?", "integer", "number?", "string[]", "integer[]"])
long = st.builds(lambda kind, rules: {"type": kind, **rules}, ruled | short, limits)
names = st.sampled_from(["a", "a?"])
field = st.recursive(
    short | long,
    lambda inner: (
        st.builds(lambda of: {"items": of}, inner)
        | st.builds(lambda of: {"fields": of}, st.dictionaries(names, inner, max_size=2))
    ),
    max_leaves=3,
)
default = st.sampled_from([{}, {"default": "a"}, {"default": 1}])


def read(name: str, written: Any, more: dict[str, Any]) -> Shape | None:
    """Return a shape of one field, None where nobody could have written it."""
    written = {"type": written} if isinstance(written, str) else written
    try:
        return SHAPES.validate_python({name: {**written, **more}})
    except ValidationError:
        return None


def accepts(shape: Shape, given: dict[str, Any], *, whole: bool = False) -> bool:
    """Return whether a request is right; with `whole`, and nothing of it is dropped."""
    errors: dict[str, list[str]] = {}
    kept = compile_shape(shape_spec(shape))(given, "", errors)
    return not errors and (not whole or paths(given) <= paths(kept))


def paths(value: Any, at: str = "") -> set[str]:
    """Return the keys of maps in a value, at any depth."""
    if isinstance(value, list):
        return {path for one in value for path in paths(one, f"{at}[]")}
    if not isinstance(value, dict):
        return set()
    inner = (path for key, one in value.items() for path in paths(one, f"{at}.{key}"))
    return {*(f"{at}.{key}" for key in value), *inner}


@st.composite
def changes(draw: st.DrawFn) -> tuple[Any, Any]:
    """Draw a field, and what it becomes: another one, or itself with another rule."""
    if draw(st.booleans()):
        return draw(field), draw(field)
    old = {"type": draw(ruled)} | {key: one for key, one in draw(limits).items() if key != "enum"}
    key, one = draw(st.sampled_from(RULES))
    if draw(st.booleans()):
        old[key] = draw(st.sampled_from([value for name, value in RULES if name == key]))
    return old, old | {key: one}


@pytest.mark.long
@settings(max_examples=250, deadline=None)
@given(names, names, changes(), default, default)
def test_what_was_taken_is_taken_or_told_of(
    old_name: str, new_name: str, change: tuple[Any, Any], old_more: Any, new_more: Any
) -> None:
    old, new = read(old_name, change[0], old_more), read(new_name, change[1], new_more)
    if old is None or new is None or [*shape_breaks(old, new, "input")]:
        return
    requests = [{}, *({"a": one} for one in VALUES)]
    right = [one for one in requests if accepts(old, one, whole=True)]
    assert [one for one in right if not accepts(new, one, whole=True)] == []


@given(names, field)
def test_a_shape_does_not_break_itself(name: str, written: Any) -> None:
    shape = read(name, written, {})
    assert shape is None or list(shape_breaks(shape, shape, "input")) == []


# ---- answers
KINDS = {
    "string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list,
    "object": dict, "null": type(None),
}  # fmt: skip


def fits(value: Any, schema: Schema) -> bool:
    """Return whether a value keeps to what readers of an answer rely on."""
    if "anyOf" in schema:
        return any(fits(value, one) for one in schema["anyOf"])
    kinds = schema.get("type", [*KINDS])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if not any(is_of(value, kind) for kind in kinds) or value not in schema.get("enum", [value]):
        return False
    if isinstance(value, list):
        return all(fits(one, schema.get("items", {})) for one in value)
    if isinstance(value, dict):
        fields = schema.get("properties", {})
        has_all = value.keys() >= {*schema.get("required", ())}
        return has_all and all(fits(value[key], fields.get(key, {})) for key in value)
    return True


def is_of(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, KINDS[kind])  # type: ignore[arg-type]


@pytest.mark.long
@settings(max_examples=250, deadline=None)
@given(names, names, changes())
def test_what_is_answered_was_answered_or_is_told_of(
    old_name: str, new_name: str, change: tuple[Any, Any]
) -> None:
    old, new = read(old_name, change[0], {}), read(new_name, change[1], {})
    if old is None or new is None:
        return
    was, now = shape_schema(old), shape_schema(new)
    if list(schema_breaks(was, now)):
        return
    answers = [{}, *({"a": one} for one in VALUES)]
    assert [one for one in answers if fits(one, now) and not fits(one, was)] == []


@given(names, field)
def test_an_answer_does_not_break_itself(name: str, written: Any) -> None:
    shape = read(name, written, {})
    assert shape is None or list(schema_breaks(shape_schema(shape), shape_schema(shape))) == []
