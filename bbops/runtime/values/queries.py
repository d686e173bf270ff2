"""Turn the texts of a query string into typed values, names in brackets among them.

The fields of `created_at: { fields: … }` are written `created_at[gte]=…`, as OpenAPI's `deepObject`
says; a text without brackets is the field `eq`, where there is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from bbops.runtime.values.fields import Say, Spec, say_plainly
from bbops.runtime.values.shapes import (
    MAX_ERRORS,
    CheckTexts,
    Errors,
    compile_form,
    compile_shape,
)

EQUAL: Final = "eq"
"""The field that a text without brackets is."""
_MAX_SHOWN: Final = 100
"""Characters of a name that nobody declared, as the client hears it."""

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
        """Say of a text without brackets which names it could have, where it is no field."""
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
            for one in value if isinstance(value, list) else (value,):
                if one is not None:
                    yield name, one
