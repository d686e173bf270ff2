"""Repair a file with mistakes, so that other files can be checked against its likely meaning.

A misspelt key or option becomes the nearest valid one, and an optional part that cannot be
guessed is left out. A repaired file is never published.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from bbops.base.diagnostics import find_nearest
from bbops.base.model import Model
from bbops.language.loading.explain import KeyPath, meant_key, options_in, path_in
from bbops.source.yaml.document import Map, Seq
from bbops.source.yaml.scalars import resolve

_ROUNDS = 4
"""A repaired key may reveal mistakes inside it that were not checked before."""

_SCALARS = frozenset({
    "string_type", "int_type", "int_from_float", "float_type", "number_type", "literal_error",
    "string_pattern_mismatch", "greater_than_equal", "less_than_equal", "string_too_long",
    "string_too_short",
})  # fmt: skip
_UNKNOWN_COLUMN = "json"


@dataclass(frozen=True, slots=True)
class _Edit:
    """The edit of the entry at `path`: another key, another value, or its removal."""

    path: KeyPath
    key: str = ""
    value: Any = None


def repaired(kind: type[Model], root: Map, error: ValidationError) -> Model | None:
    """Return the likely model of a file; None if it cannot be guessed."""
    for _ in range(_ROUNDS):
        edits = {edit.path: edit for item in error.errors(include_url=False)
                 for edit in _guess(kind, root, item)}  # fmt: skip
        if not edits:
            return None
        root = _edited(root, tuple(edits.values()))
        try:
            return kind.model_validate(root)
        except ValidationError as next_error:
            error = next_error
    return None


def _guess(kind: type[Model], root: Map, item: Any) -> Iterator[_Edit]:
    """Yield the edit that repairs one error of pydantic, if there is one."""
    path, _ = path_in(root, item["loc"])
    found, context = item["type"], item.get("ctx", {})
    if found == "extra_forbidden":
        yield _Edit(path, key=meant_key(kind, root, path) or "")
    elif found == "empty":
        yield _Edit((*path, context["key"]))
    elif found == "unknown_step":
        key = str(context["key"])
        if meant := context["meant"]:
            yield _Edit((*path, key), key=meant)
    elif found == "bool_type":
        yield _Edit(path, value=True)
    elif found == "int_type" and type(number := _number(item["input"])) is int:
        yield _Edit(path, value=number)
    elif found == "literal_error" and (meant := _option(item)):
        yield _Edit(path, value=meant)
    elif path[:1] == ("columns",) and path[-1:] == ("type",):
        yield _Edit(path, value=_UNKNOWN_COLUMN)
    elif found in _SCALARS and path:
        yield _Edit(path)


def _option(item: Any) -> str | None:
    options = options_in(item["ctx"]["expected"])
    return find_nearest(item["input"], options) if isinstance(item["input"], str) else None


def _number(value: Any) -> object:
    try:
        return resolve(value) if isinstance(value, str) else value
    except OverflowError:
        return None


# ---- edits
def _edited(node: Any, edits: Sequence[_Edit]) -> Any:
    """Return a copy of a value with the edits; unchanged parts are shared."""
    if not edits:
        return node
    inner: dict[Any, list[_Edit]] = {}
    for edit in edits:
        rest = _Edit(edit.path[1:], edit.key, edit.value)
        inner.setdefault(edit.path[0], []).append(rest)
    if isinstance(node, Map):
        return _edited_map(node, inner)
    return _edited_list(node, inner) if isinstance(node, Seq) else node


def _edited_map(node: Map, inner: dict[Any, list[_Edit]]) -> Map:
    made = Map()
    made.mark, made.keys_at, made.values_at = node.mark, {}, {}
    for key, value in node.items():
        here = next((edit for edit in inner.get(key, ()) if not edit.path), None)
        name = here.key if here and here.key and here.key not in node else key
        if here is None:
            value = _edited(value, inner.get(key, ()))  # noqa: PLW2901 - the edited value
        elif here.value is not None:
            value = here.value  # noqa: PLW2901 - the edited value
        elif name == key:
            continue
        made[name] = value
        made.keys_at[name], made.values_at[name] = node.keys_at[key], node.values_at[key]
    return made


def _edited_list(node: Seq, inner: dict[Any, list[_Edit]]) -> Seq:
    made = Seq()
    made.mark, made.items_at = node.mark, []
    for at, value in enumerate(node):
        here = next((edit for edit in inner.get(at, ()) if not edit.path), None)
        if here is not None and here.value is None:
            continue
        made.append(_edited(value, inner.get(at, ())) if here is None else here.value)
        made.items_at.append(node.items_at[at])
    return made
