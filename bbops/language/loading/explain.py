"""Turn pydantic's errors about a YAML file into diagnostics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from bbops.base.diagnostics import Diagnostic, Place, did_you_mean, find_nearest, suggest
from bbops.language.project import place
from bbops.language.shape import USUAL_TYPES
from bbops.language.steps._base import find_step_kind
from bbops.source.yaml.document import Document

KeyPath = tuple[str | int, ...]

_WANTED = {
    "string_type": "text", "int_type": "a whole number", "int_from_float": "a whole number",
    "float_type": "a number", "bool_type": "true or false", "list_type": "a list",
    "dict_type": "a map", "model_type": "a map", "model_attributes_type": "a map",
    "tuple_type": "a list", "number_type": "a number",
}  # fmt: skip
_PATTERNS = {
    "^/[A-Za-z": "a path such as /hooks/billing, without parameters",
    "^[1-9][0-9]{0,6}(B": "a size such as 500KB or 5MB",
    "^[a-z][A-Za-z0-9_-]{0,62}\\.": "an event such as user.registered",
    "^[a-z][A-Za-z0-9_.-]": "the name of an event such as comment.created",
    "^[a-z0-9][a-z0-9.-]{0,99}": "the id of a tenant, or 'common'",
    "^[a-z0-9](": "a host such as example.com",
    "^[a-z]+/": "a media type such as image/png",
    "^sha256": "a digest such as sha256:5feceb66…, of 64 digits",
    "^[0-9a-f]{40": "the whole id of a commit",
    "^[2-5]": "a status such as 200",
    "^(?:[a-z]": "a column such as done or author.role",
    "^(?:(?:[a-z]": "an order such as title or created_at.desc",
    "^(?::": "a topic such as posts/:slug/comments, without a slash at either end",
    "^https": "an address that begins with https://",
    "^[A-Za-z0-9!": "a word such as Bearer",
    "^[A-Za-z0-9_-]{1,100}": "the name of a cookie",
    "^[A-Za-z0-9_-][A-Za-z0-9_.-]*(": "a folder such as frontend/dist",
    "^\\.?[A-Za-z0-9_-]": "the path of a file or folder such as .signers",
    r"^[^.\s]+(": "a path in a body such as data.id",
    "^/": "a path such as /notes/:id, without a trailing slash",
    "^(?:\\$\\{ *env": "an address that begins with https://, or exactly '${ env.NAME }'",
    "^\\$\\{ *env": "exactly '${ env.NAME }'",
    "^[1-9][0-9]{0,6}(ms": "a duration such as 10s, 24h or 7d",
    "^[A-Z]": "a name such as JWT_SECRET",
    "^[a-z][a-z0-9-]": "a name in lower-case kebab-case",
    "://": "an origin such as https://app.example.com, without a path",
    "^[A-Za-z0-9-]": "the name of a header",
    "\\.[a-z]": "'table.column'",
    "^[a-z][a-z0-9_]": "a name in lower-case snake_case",
    "^[a-z][A-Za-z0-9_]": "a name in camelCase",
    "^[A-Za-z_]": "a name of letters, digits and '_'",
}


def text_like(pattern: str) -> str:
    """Return the noun for text of a pattern in our models, such as `a duration such as 10s`."""
    for part, words in _PATTERNS.items():
        if pattern.startswith(part) if part.startswith("^") else part in pattern:
            return words
    return ""


def explain(
    file: str, document: Document, model: type[BaseModel], error: ValidationError
) -> Iterator[Diagnostic]:
    """Yield one diagnostic per mistake, at its exact key or value."""
    seen: set[Place] = set()
    items = error.errors(include_url=False)
    misspelt = {spelt for item in items if (spelt := _misspelt(document, model, item))}
    for item in items:
        if item["type"] == "missing" and tuple(item["loc"]) in misspelt:
            continue  # reported with the unknown key beside it
        found = _diagnostic(file, document, model, item)
        if found.place not in seen:  # a union of types repeats the error
            seen.add(found.place)
            yield found


def _misspelt(document: Document, model: type[BaseModel], item: Any) -> tuple[Any, ...] | None:
    """Return the location of the intended key for an unknown one."""
    if item["type"] != "extra_forbidden":
        return None
    path, _ = path_in(document.root, item["loc"])
    meant = meant_key(model, document.root, path)
    return (*item["loc"][:-1], meant) if meant else None


def meant_key(model: type[BaseModel], root: Any, path: KeyPath) -> str | None:
    """Return the intended key for an unknown key at a key path, if one is similar."""
    return find_nearest(str(path[-1]), _keys_at(model, root, path[:-1])) or None


def _diagnostic(file: str, document: Document, model: type[BaseModel], item: Any) -> Diagnostic:
    kind, context = item["type"], item.get("ctx", {})
    path, is_key = path_in(document.root, item["loc"])
    at = place(file, document, path, key=is_key)
    name = str(path[-1]) if path else ""
    if kind == "extra_forbidden":
        return _unknown_key(file, document, model, path)
    if kind == "missing":
        missing = str(item["loc"][-1])
        return Diagnostic(at, "missing-key", f"'{missing}' is missing")
    if kind == "empty":
        at = place(file, document, (*path, context["key"]), key=True)
        return Diagnostic(at, "empty", item["msg"], "give it a value, or remove the key")
    if kind == "one_of" and context["key"]:
        at = place(file, document, (*path, context["key"]), key=True)
    if kind in {"unknown_step", "two_actions"}:
        at = place(file, document, (*path, context["key"]), key=True)
        code = kind.replace("_", "-")
        return Diagnostic(at, code, item["msg"], context.get("hint", ""))
    if kind == "literal_error":
        return _not_an_option(at, item["input"], context["expected"])
    if kind == "string_pattern_mismatch":
        wanted = text_like(context["pattern"]) or "other text"
        if "env" in wanted:  # the value may be the secret itself
            return Diagnostic(at, "bad-name", f"'{name}' needs {wanted}", _ENV_HINT)
        hint = _PARAMETER_HINT if wanted.startswith("a path") and "{" in item["input"] else ""
        message = f"expected {wanted}, got '{_short(item['input'])}'"
        return Diagnostic(at, "bad-name", message, hint)
    if kind in _LIMITS:
        (limit,) = (value for value in context.values() if type(value) in {int, float})
        message = f"'{name}' is {_LIMITS[kind]} {limit}, got {_word(item['input'])}"
        return Diagnostic(at, "bad-value", message)
    if kind in {"too_short", "string_too_short"}:
        return Diagnostic(at, "empty", f"'{name}' must not be empty")
    if kind in _WANTED:
        message = f"'{name}' needs {_WANTED[kind]}, got {_word(item['input'])}"
        return Diagnostic(at, "wrong-type", message, _keys_of(document, model, path, kind))
    message = item["msg"][:1].lower() + item["msg"][1:]
    code = kind.replace("_", "-") if kind in _OWN else "bad-value"
    return Diagnostic(at, code, message, context.get("hint", ""))


_OWN = {
    "unknown_type", "bad_pattern", "step", "static", "columns", "default", "one_of", "schedule",
    "unknown_timezone", "retry", "try",
}  # fmt: skip
_USUAL_KEYS = {
    "filter": "where", "sort": "orderBy", "order": "orderBy", "columns": "select",
    "fields": "select", "cursor": "after", "skip": "offset", "take": "limit",
    "body": "value input", "as": "each", "do": "steps", "cron": "schedule", "interval": "every",
    "on": "event",
}  # fmt: skip
"""Common names of other tools for a key; the first known one of several counts."""
_ENV_HINT = "declare the name under 'env'; its value is never stored in the repository"
_PARAMETER_HINT = "a parameter is written ':id'"
_LIMITS = {
    "greater_than_equal": "at least", "less_than_equal": "at most", "string_too_long": "at most",
    "too_long": "at most",
}  # fmt: skip


def path_in(root: Any, loc: Sequence[str | int]) -> tuple[KeyPath, bool]:
    """Return the part of pydantic's location that the document has, and whether it is a key.

    Labels of union branches are left out; `[key]` marks a key.
    """
    node, path = root, []
    for part in loc:
        inside = isinstance(node, dict) and part in node
        if inside or (isinstance(node, list) and isinstance(part, int) and part < len(node)):
            path.append(part)
            node = node[part]
    is_key = bool(loc) and loc[-1] == "[key]"
    return tuple(path), is_key


def _unknown_key(
    file: str, document: Document, model: type[BaseModel], path: KeyPath
) -> Diagnostic:
    known = _keys_at(model, document.root, path[:-1])
    name = str(path[-1])
    usual = next((key for key in _USUAL_KEYS.get(name.lower(), "").split() if key in known), "")
    near = did_you_mean(name, usual) if usual else suggest(name, known)
    near = _not_indented(document, model, path) or _too_deep(document, model, path) or near
    listed = "known here: " + ", ".join(known) if known else ""
    is_field = {"type", "items", "fields"} <= set(known)
    inside = f"'{name}' of a map goes under 'fields'; {listed}" if is_field else listed
    at = place(file, document, path, key=True)
    return Diagnostic(at, "unknown-key", f"unknown key '{name}'", near or inside)


def _not_indented(document: Document, model: type[BaseModel], path: KeyPath) -> str:
    """Return the fix for a key that needs more indentation to stand below its parent."""
    *above, name = path
    beside = document.root
    for part in above:
        beside = beside[part]
    for key, value in beside.items() if isinstance(beside, dict) else ():
        if value is None and name in _keys_at(model, document.root, (*above, key)):
            return f"indent it below '{key}', whose key it is"
    return ""


def _too_deep(document: Document, model: type[BaseModel], path: KeyPath) -> str:
    """Return the fix for a key of the map above, such as `timeout` inside of `http`."""
    *above, name = path
    parent = above[-1] if above else 0  # or the number of a list's member
    if not isinstance(parent, str) or name == parent:
        return ""
    is_above = name in _keys_at(model, document.root, tuple(above[:-1]))
    return f"move it beside '{parent}', out of its map" if is_above else ""


def _keys_of(document: Document, model: type[BaseModel], path: KeyPath, kind: str) -> str:
    """Return the keys of a map that is expected in the place of another value."""
    is_model = kind.startswith("model_")  # a map by name has any keys of its author
    known = _keys_at(model, document.root, path) if is_model else []
    return "its keys: " + ", ".join(known) if known else ""


def _keys_at(model: type[BaseModel], node: Any, path: KeyPath) -> list[str]:
    """Return the keys of the model at a key path."""
    current: Any = model
    for part in path:
        node = node[part]
        if isinstance(part, int):
            if isinstance(node, dict) and _is_steps(current):
                current = next(filter(None, map(find_step_kind, node)), None)
            continue
        current = _field(current, part)
        if isinstance(node, dict) and _is_steps(current) and "list[" not in str(current):
            current = next(filter(None, map(find_step_kind, node)), current)
    found = _model_in(current)
    return [field.alias or name for name, field in found.model_fields.items()] if found else []


def _field(current: Any, key: str) -> Any:
    model = _model_in(current)
    if model is None:
        return None
    for name, field in model.model_fields.items():
        if key in {name, field.alias}:
            return field.annotation
    return current  # a key of a map such as `columns`: the annotation types its values


def _is_steps(annotation: Any) -> bool:
    return "Step" in str(annotation)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the model inside an annotation such as `dict[str, Column] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (_model_in(argument) for argument in reversed(get_args(annotation)))
    return next((found for found in inner if found is not None), None)


def options_in(expected: str) -> list[str]:
    """Return the options that pydantic lists in a sentence."""
    return [option.strip("' ") for option in expected.replace(" or ", ", ").split(", ")]


def _not_an_option(at: Place, given: Any, expected: str) -> Diagnostic:
    options = options_in(expected)
    message = f"expected {expected}, got {_word(given)}"
    if isinstance(given, str):
        message = f"expected {expected}, got '{_short(given)}'"
    usual = USUAL_TYPES.get(str(given).lower())
    near = usual if usual in options else find_nearest(str(given), options)
    hint = did_you_mean(str(given), near) if near else ""
    return Diagnostic(at, "bad-value", message, hint)


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _word(value: Any) -> str:
    words = {bool: "a boolean", int: f"number {value}", float: f"number {value}"}
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a map"
    if isinstance(value, list):
        return "a list"
    return words.get(type(value)) or f"text '{_short(value)}'"
