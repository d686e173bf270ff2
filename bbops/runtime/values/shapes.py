"""Bodies and queries of requests as typed values, with all their mistakes.

A field spec is plain data: `{"type": …, "nullable": …, "optional": …, "default": …, "minLength",
"maxLength", "minimum", "maximum", "pattern", "enum", "items": field spec, "fields": shape spec}`;
a shape spec maps names to field specs. It compiles once; a run does what its fields need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from bbops.runtime.values.failures import NOTHING
from bbops.runtime.values.fields import (
    EXACT_JSON,
    REQUIRED,
    SCALARS,
    TEXT_TYPES,
    UNREADABLE,
    Say,
    Spec,
    compile_rules,
    say_plainly,
)
from bbops.runtime.values.filters.numbers import parse_number
from bbops.runtime.values.formats import HAS_NUL
from bbops.runtime.values.values import MAX_LIST

Errors = dict[str, list[str]]
"""Field path (`address.street`, `tags.0`) to what is wrong there."""
Check = Callable[[Any, str, Errors], Any]
"""Takes a value, its path and the errors so far; returns the typed value."""
CheckTexts = Callable[[Mapping[str, list[str]] | Mapping[str, str], Errors], dict[str, Any]]
MAX_ERRORS: Final = 100
"""Fields with errors after which a check stops."""
_BOOLEANS: Final = {"true": True, "false": False}


class _EnoughError(Exception):
    """MAX_ERRORS fields are wrong: the rest is not looked at."""


def compile_shape(
    spec: Spec, say: Say = say_plainly
) -> Callable[[Any, str, Errors], dict[str, Any]]:  # fmt: skip
    """Return a check that gives a map's declared fields, typed; errors are added to the dict.

    A field left out has no key in the result, unless it has a default. Null in the place of the
    map counts as an empty map, so that a missing body names the fields it should have had.
    The result means nothing when there are errors.

    Raises:
        FlowError: a pattern of the shape is wrong.
    """
    check_map = _compile_map(_exactly(spec) if reads_exactly(spec) else spec, say)

    def check(value: Any, path: str, errors: Errors) -> dict[str, Any]:
        try:
            typed: dict[str, Any] = check_map({} if value is None else value, path, errors)
        except _EnoughError:
            return {}
        return typed

    return check


def reads_exactly(spec: Spec) -> bool:
    """Return whether a shape has decimals, so that the numbers of a body are read as such."""
    return any(
        field["type"] == "decimal" or reads_exactly(_inside(field)) for field in spec.values()
    )


def _inside(field: Spec) -> Spec:
    return {"": field["items"]} if "items" in field else field.get("fields", {})


def _exactly(spec: Spec) -> dict[str, Any]:
    """Return a shape whose json fields make numbers of decimals again."""
    return {name: _exact_field(field) for name, field in spec.items()}


def _exact_field(field: Spec) -> dict[str, Any]:
    found = dict(field)
    if field["type"] == "json":
        found["type"] = EXACT_JSON
    if "items" in field:
        found["items"] = _exact_field(field["items"])
    if "fields" in field:
        found["fields"] = _exactly(field["fields"])
    return found


def compile_form(spec: Spec) -> Callable[[Mapping[str, list[str]]], dict[str, Any]]:
    """Return what reads the texts of a form, by name, as the values that `compile_shape` checks.

    A list takes every text of a repeated name, any other type the first; others are dropped.
    """
    readers = {name: _compile_reader(field) for name, field in spec.items()}

    def read(texts: Mapping[str, list[str]]) -> dict[str, Any]:
        return {
            name: readers[name](many) for name, many in texts.items() if many and name in readers
        }

    return read


def compile_params(spec: Spec, say: Say = say_plainly) -> CheckTexts:
    """Return a check for a path's parameters, one text each."""
    fields = tuple(
        (name, _compile_one_reader(spec[name]), *rest) for name, *rest in _compile_fields(spec, say)
    )
    required = say("required", None, REQUIRED)

    def check(texts: Mapping[str, Any], errors: Errors) -> dict[str, Any]:
        typed: dict[str, Any] = {}
        try:
            for name, read, check_field, default, optional in fields:
                if name in texts:
                    typed[name] = check_field(read(texts[name]), name, errors)
                elif default is not NOTHING:
                    typed[name] = check_field(default, name, errors)
                elif not optional:
                    _report(errors, name, required)
        except _EnoughError:
            return {}
        return typed if typed.keys() == texts.keys() else {**texts, **typed}

    return check


def _compile_fields(spec: Spec, say: Say) -> tuple[tuple[str, Check, Any, bool], ...]:
    return tuple(
        (
            name,
            _compile_field(field, say),
            field.get("default", NOTHING),
            field.get("optional", False),
        )
        for name, field in spec.items()
    )


def _compile_map(spec: Spec, say: Say) -> Check:
    fields = _compile_fields(spec, say)
    no_map, required = say("type", "object", SCALARS["object"][1]), say("required", None, REQUIRED)

    def check(value: Any, path: str, errors: Errors) -> dict[str, Any]:
        if type(value) is not dict:
            _report(errors, path, no_map)
            return {}
        typed = {}
        for name, check_field, default, optional in fields:
            given = value.get(name, default)
            if given is not NOTHING:
                typed[name] = check_field(given, f"{path}.{name}" if path else name, errors)
            elif not optional:
                _report(errors, f"{path}.{name}" if path else name, required)
        return typed

    return check


def _compile_field(spec: Spec, say: Say) -> Check:
    if spec["type"] == "list":
        return _compile_whole(spec, _compile_list(spec, say), say)
    if spec["type"] == "object" and "fields" in spec:
        return _compile_whole(spec, _compile_map(spec["fields"], say), say)
    return _compile_scalar(spec, say)


def _compile_whole(spec: Spec, check_parts: Check, say: Say) -> Check:
    nullable, required = spec.get("nullable", False), say("required", None, REQUIRED)

    def check(value: Any, path: str, errors: Errors) -> Any:
        if value is None:
            return None if nullable else _report(errors, path, required)
        return check_parts(value, path, errors)

    return check


def _compile_scalar(spec: Spec, say: Say) -> Check:
    convert, usual = SCALARS[spec["type"]]
    message, required = say("type", spec["type"], usual), say("required", None, REQUIRED)
    has_nul = say("type", spec["type"], HAS_NUL) if spec["type"] in {"string", "text"} else message
    rules, nullable = compile_rules(spec, say), spec.get("nullable", False)
    refuses_empty = spec["type"] in TEXT_TYPES and spec.get("minLength", 0) >= 1

    def check(value: Any, path: str, errors: Errors) -> Any:
        if value is None and nullable:
            return None
        if value is None or (refuses_empty and value == ""):
            return _report(errors, path, required)
        typed = convert(value)
        if typed is NOTHING:
            is_nul = type(value) is str and "\0" in value
            return _report(errors, path, has_nul if is_nul else message)
        for holds, broken in rules:
            if not holds(typed):
                _report(errors, path, broken)
        return typed

    return check


def _compile_list(spec: Spec, say: Say) -> Check:
    check_item = _compile_field(spec["items"], say) if "items" in spec else None
    no_list = say("type", "list", "must be a list")
    most = min(spec.get("maxLength", MAX_LIST), MAX_LIST)
    rules = compile_rules({**spec, "maxLength": most}, say)

    def check(value: Any, path: str, errors: Errors) -> Any:
        if type(value) is not list:
            return _report(errors, path, no_list)
        for holds, broken in rules:
            if not holds(value):
                _report(errors, path, broken)
        if check_item is None or len(value) > most:
            return value
        return [check_item(item, f"{path}.{place}", errors) for place, item in enumerate(value)]

    return check


def _compile_reader(spec: Spec) -> Callable[[list[str]], Any]:
    if spec["type"] == "list":
        read_item = _READERS.get(spec.get("items", {}).get("type"), str)
        return lambda texts: [read_item(text) for text in texts]
    read = _READERS.get(spec["type"], str)
    return lambda texts: read(texts[0])


def _compile_one_reader(spec: Spec) -> Callable[[str], Any]:
    if spec["type"] == "list":
        read_item = _READERS.get(spec.get("items", {}).get("type"), str)
        return lambda text: [read_item(text)]
    return _READERS.get(spec["type"], str)


def _read_number(text: str) -> Any:
    number = parse_number(text)
    return text if number is None else number


def _read_boolean(text: str) -> Any:
    return _BOOLEANS.get(text, text)


def _read_json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return UNREADABLE


def _report(errors: Errors, path: str, message: str) -> None:
    errors.setdefault(path, []).append(message)
    if len(errors) >= MAX_ERRORS:
        raise _EnoughError


_READERS: Final[dict[Any, Callable[[str], Any]]] = {
    "integer": _read_number,
    "number": _read_number,
    "boolean": _read_boolean,
    "json": _read_json,
    "object": _read_json,
}


# ---- Turn the texts of a query string into typed values, names in brackets among them
# The fields of `created_at: { fields: … }` are written `created_at[gte]=…`, as OpenAPI's
# `deepObject` says; a text without brackets is the field `eq`, where there is one.

EQUAL: Final = "eq"
"""The field that a text without brackets is."""
_MAX_SHOWN: Final = 100
"""The most characters of an undeclared name that its client sees."""

Texts = dict[str, list[str]]


def compile_query(spec: Spec, say: Say = say_plainly) -> CheckTexts:
    """Return a check for texts by name: declared ones arrive typed, others as their first text.

    A list takes every text of a repeated name, any other type the first.

    Raises:
        FlowError: a pattern of the shape is wrong.
    """
    groups = {name: field["fields"] for name, field in spec.items() if has_fields(field)}
    plain = {name: field for name, field in spec.items() if name not in groups}
    known, read, check_shape = names_of(spec), compile_form(plain), compile_shape(spec, say)
    read_groups = _Groups(groups) if groups else None

    def check(texts: Mapping[str, list[str]] | Mapping[str, str], errors: Errors) -> dict[str, Any]:
        many = {name: [one] if type(one) is str else list(one) for name, one in texts.items()}
        others = {name: given[0] for name, given in many.items() if given and name not in known}
        if read_groups is None:
            return {**others, **check_shape(read(many), "", errors)}
        found: Errors = {}
        typed = check_shape(read(many) | read_groups.read(many), "", found)
        for path, messages in found.items():
            errors.setdefault(read_groups.spell(path, many), []).extend(messages)
        read_groups.refuse_plain(many, errors)
        return {**others, **typed}

    return check


class _Groups:
    """The fields of a query that have fields: where the texts of each name belong."""

    def __init__(self, groups: Mapping[str, Spec]) -> None:
        self.groups = groups
        self.forms = {group: compile_form(fields) for group, fields in groups.items()}
        self.places = {
            **{group: (group, EQUAL) for group, fields in groups.items() if EQUAL in fields},
            **{
                bracketed(group, name): (group, name)
                for group, fields in groups.items() for name in fields
            },
        }  # fmt: skip

    def read(self, many: Texts) -> dict[str, dict[str, Any]]:
        """Return the values of each group of which a text was sent."""
        found: dict[str, Texts] = {}
        for name, (group, field) in self.places.items():
            if name in many:
                found.setdefault(group, {}).setdefault(field, []).extend(many[name])
        return {group: self.forms[group](texts) for group, texts in found.items()}

    def spell(self, path: str, many: Texts) -> str:
        """Return the path of an error, `created_at.gte`, as the client wrote the name."""
        group, dot, inside = path.partition(".")
        if not dot or group not in self.groups:
            return path
        field, dot, rest = inside.partition(".")
        name = bracketed(group, field)
        if field == EQUAL and group in many and name not in many:
            name = group
        return f"{name}{dot}{rest}"

    def refuse_plain(self, many: Texts, errors: Errors) -> None:
        """Add an error for a text without brackets that is not a field, with the known names."""
        for group, fields in self.groups.items():
            if group in many and EQUAL not in fields:
                example = bracketed(group, next(iter(fields), "name"))
                errors[group] = [f"needs a name in brackets, such as {example}"]


def has_fields(field: Spec) -> bool:
    """Return whether a field of a query is written with names in brackets."""
    return field["type"] == "object" and "fields" in field


def names_of(spec: Spec) -> frozenset[str]:
    """Return every name that a query of this shape may have."""
    inside = {
        bracketed(name, inner)
        for name, field in spec.items() if has_fields(field)
        for inner in field["fields"]
    }  # fmt: skip
    return frozenset(spec) | inside


def refuse_unknown(names: Iterable[str], known: frozenset[str], errors: Errors) -> None:
    """Say of each name that is not declared that it is unknown."""
    for name in names:
        if name not in known and len(errors) < MAX_ERRORS:
            shown = name if len(name) <= _MAX_SHOWN else f"{name[:_MAX_SHOWN]}…"
            errors.setdefault(shown, []).append("is not a known parameter")


def bracketed(group: str, field: str) -> str:
    """Return how a field of a field is named in a query."""
    return f"{group}[{field}]"


def spread(query: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the values of a query by the names that they are sent with, one for each text."""
    for name, value in query.items():
        if isinstance(value, Mapping):
            yield from spread({bracketed(name, key): one for key, one in value.items()})
        else:
            for item in value if isinstance(value, list) else (value,):
                if item is not None:
                    yield name, item
