"""Shapes: what becomes typed, what is wrong, and how people are told."""

from __future__ import annotations

import marshal
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.runtime.values.failures import FlowError
from bbops.runtime.values.formats import is_email, is_url
from bbops.runtime.values.shapes import compile_params, compile_query, compile_shape

Errors = dict[str, list[str]]


def check(spec: dict[str, Any], value: Any, path: str = "") -> tuple[dict[str, Any], Errors]:
    errors: Errors = {}
    spec = marshal.loads(marshal.dumps(spec))
    return compile_shape(spec)(value, path, errors), errors


def check_field(field: dict[str, Any], value: Any) -> tuple[Any, list[str]]:
    typed, errors = check({"x": field}, {"x": value})
    return typed.get("x"), errors.get("x", [])


def query(spec: dict[str, Any], texts: dict[str, Any]) -> tuple[dict[str, Any], Errors]:
    errors: Errors = {}
    return compile_query(spec)(texts, errors), errors


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        ("string", "", ""),
        ("text", "a\nb", "a\nb"),
        ("integer", 3, 3),
        ("integer", 3.0, 3),
        ("integer", -(2**63), -(2**63)),
        ("number", 3, 3),
        ("number", 2.5, 2.5),
        ("boolean", False, False),
        ("datetime", "2026-03-05T12:00:00+02:00", datetime(2026, 3, 5, 10, tzinfo=UTC)),
        ("datetime", "2026-03-05T12:00:00", datetime(2026, 3, 5, 12, tzinfo=UTC)),
        ("date", "2026-03-05", date(2026, 3, 5)),
        (
            "uuid",
            "0B1C2D3E-0000-4000-8000-00000000000F",
            "0b1c2d3e-0000-4000-8000-00000000000f",
        ),
        ("email", "ada@example.org", "ada@example.org"),
        ("url", "https://example.org/a?b#c", "https://example.org/a?b#c"),
        ("json", [1, {"a": None}], [1, {"a": None}]),
        ("object", {"a": 1}, {"a": 1}),
        ("list", [1, "a"], [1, "a"]),
    ],
)
def test_a_value_of_its_type_is_taken(type_: str, value: Any, expected: Any) -> None:
    typed, messages = check_field({"type": type_}, value)
    assert messages == []
    assert typed == expected
    assert type(typed) is type(expected)


@pytest.mark.parametrize(
    ("type_", "values", "message"),
    [
        ("string", [1, True, [], {}, "\ud800"], "must be text"),
        ("string", ["a\0b", "\0"], "has a NUL character, which the database cannot store"),
        ("text", ["a\0b"], "has a NUL character, which the database cannot store"),
        ("email", ["a\0@b.example"], "must be an email address"),
        ("integer", ["3", 3.5, True, float("inf"), []], "must be a whole number"),
        ("integer", [2**63, 1e30], "is too large"),
        ("number", ["3", True, float("nan"), float("inf")], "must be a number"),
        ("number", [2**63], "is too large"),
        ("boolean", [0, 1, "true"], "must be true or false"),
        (
            "datetime",
            ["soon", "2026-02-30T00:00:00Z", 0],
            "must be a date and time such as 2026-03-05T10:00:00Z",
        ),
        ("date", ["2026-02-30", "2026-03-05T10:00:00Z", 1], "must be a date such as 2026-03-05"),
        ("uuid", ["0b1c", "0b1c2d3e00004000800000000000000f", 1], "must be a UUID"),
        ("email", ["ada", "", 1], "must be an email address"),
        (
            "url",
            ["javascript:alert(1)", "/a", 1],
            "must be a URL that begins with https:// or http://",
        ),
        ("object", [[], "a", 1], "must be an object"),
        ("list", [{}, "a", 1], "must be a list"),
    ],
)
def test_a_value_of_another_type_is_named(type_: str, values: list[Any], message: str) -> None:
    for value in values:
        assert check_field({"type": type_}, value)[1] == [message]


def test_only_declared_fields_are_kept() -> None:
    assert check({"a": {"type": "string"}}, {"a": "x", "b": "y"}) == ({"a": "x"}, {})


def test_absent_and_null_stay_apart() -> None:
    spec = {"a": {"type": "string", "optional": True, "nullable": True}}
    assert check(spec, {}) == ({}, {})
    assert check(spec, {"a": None}) == ({"a": None}, {})


def test_what_may_be_left_out_may_not_be_null_for_that() -> None:
    assert check_field({"type": "string", "optional": True}, None)[1] == ["is required"]


def test_what_may_be_null_may_not_be_left_out_for_that() -> None:
    assert check({"a": {"type": "string", "nullable": True}}, {})[1] == {"a": ["is required"]}


def test_a_default_stands_for_a_missing_field_only() -> None:
    spec = {"a": {"type": "datetime", "default": "2026-03-05", "nullable": True}}
    assert check(spec, {})[0] == {"a": datetime(2026, 3, 5, tzinfo=UTC)}
    assert check(spec, {"a": None})[0] == {"a": None}


def test_a_missing_body_names_its_fields() -> None:
    spec = {"a": {"type": "string"}, "b": {"type": "json", "optional": True}}
    assert check(spec, None) == ({}, {"a": ["is required"]})


def test_a_body_that_is_no_object_says_so() -> None:
    assert check({"a": {"type": "string"}}, [])[1] == {"": ["must be an object"]}
    assert check({"a": {"type": "string"}}, "x", "input")[1] == {"input": ["must be an object"]}


@pytest.mark.parametrize("value", ["", None])
def test_an_empty_text_with_a_least_length_is_only_missing(value: str | None) -> None:
    field = {"type": "string", "minLength": 8, "pattern": "[0-9]", "enum": ["a"]}
    assert check_field(field, value)[1] == ["is required"]
    assert check_field({"type": "string", "minLength": 0}, "") == ("", [])


def test_every_broken_rule_of_a_field_is_named() -> None:
    field = {"type": "string", "minLength": 8, "pattern": "[0-9]", "enum": ["open", "doing"]}
    assert check_field(field, "x")[1] == [
        "must have at least 8 characters",
        "has the wrong form",
        "must be one of: open, doing",
    ]


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ({"type": "string", "minLength": 2}, "é", "must have at least 2 characters"),
        ({"type": "string", "maxLength": 1}, "ab", "must have at most 1 character"),
        ({"type": "list", "minLength": 1}, [], "must have at least 1 item"),
        ({"type": "list", "maxLength": 2}, [1, 2, 3], "must have at most 2 items"),
        ({"type": "integer", "minimum": 1}, 0, "must be at least 1"),
        ({"type": "number", "maximum": 0.5}, 0.6, "must be at most 0.5"),
        ({"type": "integer", "enum": [1, 2]}, 3, "must be one of: 1, 2"),
        ({"type": "email", "maxLength": 5}, "a@b.cd", "must have at most 5 characters"),
    ],
)
def test_a_broken_rule_says_what_would_be_right(
    field: dict[str, Any], value: Any, message: str
) -> None:
    assert check_field(field, value)[1] == [message]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ({"type": "string", "minLength": 2, "maxLength": 2}, "éé"),
        ({"type": "string", "pattern": "b"}, "abc"),
        ({"type": "number", "minimum": 0, "maximum": 1}, 1),
        ({"type": "number", "enum": [1]}, 1.0),
        ({"type": "json", "enum": [{"a": 1}, None]}, {"a": 1}),
        ({"type": "string", "enum": ["a"], "nullable": True}, None),
    ],
)
def test_a_rule_that_holds_says_nothing(field: dict[str, Any], value: Any) -> None:
    assert check_field(field, value) == (value, [])


def test_a_long_list_of_values_is_cut() -> None:
    message = check_field({"type": "string", "enum": [str(n) for n in range(999)]}, "x")[1][0]
    assert message.endswith("…")
    assert len(message) < 600


def test_a_wrong_pattern_fails_when_the_shape_is_made() -> None:
    with pytest.raises(FlowError, match="is not a pattern"):
        compile_shape({"a": {"type": "string", "pattern": "("}})


def test_a_text_too_long_for_its_pattern_has_the_wrong_form() -> None:
    field = {"type": "string", "pattern": "((a?){100}){10}b"}
    assert check_field(field, "a" * 1_000_000)[1] == ["has the wrong form"]


def test_paths_lead_into_objects_and_lists() -> None:
    spec = {
        "address": {"type": "object", "fields": {"street": {"type": "string"}}},
        "tags": {"type": "list", "items": {"type": "string", "maxLength": 3}},
        "lines": {
            "type": "list",
            "items": {"type": "object", "fields": {"count": {"type": "integer", "minimum": 1}}},
        },
    }
    value = {"address": {}, "tags": ["long tag", "ok", None], "lines": [{"count": 0}, 7]}
    assert check(spec, value)[1] == {
        "address.street": ["is required"],
        "tags.0": ["must have at most 3 characters"],
        "tags.2": ["is required"],
        "lines.0.count": ["must be at least 1"],
        "lines.1": ["must be an object"],
    }
    assert next(iter(check(spec, value, "body")[1])) == "body.address.street"


def test_members_of_lists_are_typed_and_trimmed() -> None:
    item = {"type": "object", "fields": {"on": {"type": "date"}}}
    spec = {"days": {"type": "list", "items": item}}
    assert check(spec, {"days": [{"on": "2026-03-05", "x": 1}]})[0] == {
        "days": [{"on": date(2026, 3, 5)}]
    }


def test_a_check_stops_after_a_hundred_wrong_fields() -> None:
    spec = {"n": {"type": "list", "items": {"type": "integer"}}}
    assert len(check(spec, {"n": ["x"] * 100_000})[1]) == 100


def test_a_list_too_long_is_not_walked() -> None:
    spec = {"n": {"type": "list", "items": {"type": "integer"}, "maxLength": 3}}
    assert check(spec, {"n": ["x"] * 4})[1] == {"n": ["must have at most 3 items"]}
    assert check({"n": {"type": "list"}}, {"n": [0] * 100_001})[1] == {
        "n": ["must have at most 100000 items"]
    }


def test_values_that_are_typed_already_pass() -> None:
    moment, day = datetime(2026, 3, 5, tzinfo=UTC), date(2026, 3, 5)
    spec = {"at": {"type": "datetime"}, "on": {"type": "date"}}
    assert check(spec, {"at": moment, "on": day}) == ({"at": moment, "on": day}, {})
    assert list(check(spec, {"at": day, "on": moment})[1]) == ["at", "on"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.long
@given(st.dictionaries(st.sampled_from("abcdefg"), json_values))
def test_whatever_comes_gives_typed_fields_or_messages(value: dict[str, Any]) -> None:
    spec: dict[str, Any] = {
        "a": {"type": "integer"},
        "b": {"type": "email"},
        "c": {"type": "datetime", "nullable": True},
        "d": {"type": "list", "items": {"type": "number"}},
        "e": {"type": "object", "fields": {"x": {"type": "uuid"}}},
        "f": {"type": "url", "optional": True},
        "g": {"type": "string", "pattern": "^x"},
    }
    typed, errors = check(spec, value)
    assert typed.keys() | errors.keys() >= {"a", "b"}
    assert all(message for messages in errors.values() for message in messages)


@pytest.mark.parametrize(
    "text",
    ["a@b.co", "a.b+c@sub.example.org", "o'hara@example.org", "jürgen@exämple.de", "1@2-3.x"],
)
def test_email_addresses_people_have_are_taken(text: str) -> None:
    assert is_email(text)


@pytest.mark.parametrize(
    "text",
    ["a", "@b.co", "a@", "a@b", "a@b.", "a@.co", "a@b..co", ".a@b.co", "a.@b.co", "a..b@c.de",
     "a b@c.de", "a@b@c.de", "a@-b.co", "a@b-.co", "a@b_c.de", "<a@b.co>", "a@b.co\n", "a,b@c.de",
     "a" * 65 + "@b.co", "a@" + "b" * 64 + ".co", "a@" + "b." * 200 + "co"],
)  # fmt: skip
def test_what_is_no_email_address_is_refused(text: str) -> None:
    assert not is_email(text)


@pytest.mark.parametrize(
    "text",
    ["http://a", "HTTPS://a.b:8080/c?d=e#f", "https://[::1]/", "https://ü.de/", "http://u:p@h/x"],
)
def test_web_addresses_are_taken(text: str) -> None:
    assert is_url(text)


@pytest.mark.parametrize(
    "text",
    ["", "http://", "http:///a", "https:a", "//a", "ftp://a", "http://a b", "http://a\n", "http://a\\b",
     "http://a:99999", "http://a:b", "http://[::1", "javascript:alert(1)//http://a", "\thttp://a",
     "http://" + "a" * 8_000],
)  # fmt: skip
def test_what_is_no_web_address_is_refused(text: str) -> None:
    assert not is_url(text)


def test_texts_of_a_query_arrive_as_their_types() -> None:
    spec = {
        "page": {"type": "integer"},
        "price": {"type": "number"},
        "open": {"type": "boolean"},
        "since": {"type": "datetime"},
        "filter": {"type": "json"},
        "tags": {"type": "list", "items": {"type": "string"}},
        "ids": {"type": "list", "items": {"type": "integer"}},
    }
    texts = {
        "page": ["2", "9"], "price": ["2.5"], "open": ["true"], "since": ["2026-03-05"],
        "filter": ['{"a":1}'], "tags": ["a", "1"], "ids": ["1", "2"],
    }  # fmt: skip
    assert query(spec, texts) == (
        {
            "page": 2, "price": 2.5, "open": True, "since": datetime(2026, 3, 5, tzinfo=UTC),
            "filter": {"a": 1}, "tags": ["a", "1"], "ids": [1, 2],
        },
        {},
    )  # fmt: skip


def test_a_number_declared_as_text_stays_text() -> None:
    assert query({"zip": {"type": "string"}}, {"zip": ["01234"]})[0] == {"zip": "01234"}


def test_texts_that_are_not_their_type_are_named() -> None:
    spec = {name: {"type": name} for name in ("integer", "boolean", "json", "object")}
    spec["many"] = {"type": "list", "items": {"type": "integer"}}  # type: ignore[dict-item]
    texts = {
        "integer": ["1e"],
        "boolean": ["1"],
        "json": ["{"],
        "object": ["["],
        "many": ["1", "x"],
    }
    assert query(spec, texts)[1] == {
        "integer": ["must be a whole number"],
        "boolean": ["must be true or false"],
        "json": ["must be JSON"],
        "object": ["must be an object"],
        "many.1": ["must be a whole number"],
    }


def test_undeclared_texts_stay_texts() -> None:
    assert query({"a": {"type": "integer"}}, {"a": ["1"], "b": ["2", "3"], "c": []})[0] == {
        "a": 1,
        "b": "2",
    }


def test_a_missing_query_value_is_required_defaulted_or_left_out() -> None:
    spec = {
        "a": {"type": "integer"},
        "b": {"type": "integer", "default": 20},
        "c": {"type": "integer", "optional": True},
    }
    assert query(spec, {}) == ({"b": 20}, {"a": ["is required"]})


def test_path_parameters_are_single_texts() -> None:
    errors: Errors = {}
    check_params = compile_params({"id": {"type": "integer"}})
    assert check_params({"id": "7", "slug": "x"}, errors) == {"id": 7, "slug": "x"}
    check_params({"id": "seven"}, errors)
    assert errors == {"id": ["must be a whole number"]}
