"""Name the shapes that a contract contains more than once, and write them once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import msgspec

from bbops.language.json_schema import Schema
from bbops.review.contract.contract import SHAPES, Operation

Hinted = tuple[str, Schema]
"""A schema, and its name if it is shared."""


def share(operations: Sequence[Operation]) -> tuple[tuple[Operation, ...], dict[str, Schema]]:
    """Return operations that refer to shapes, and the shapes by name.

    Only maps with fields are shared. The first use gives the name, outer schemas before inner ones;
    a schema with a `title` has that name.
    """
    top = [hinted for operation in operations for hinted in _hinted(operation)]
    counts = Counter(_key(schema) for _, schema in _every(top) if _is_shape(schema))
    names: dict[bytes, str] = {}
    taken: set[str] = set()
    for hint, schema in _every(top):
        key = _key(schema)
        if key not in names and _is_shape(schema) and (counts[key] > 1 or "title" in schema):
            names[key] = _free(schema.get("title", hint), taken)
    shapes = {names[_key(shape)]: shape for _, shape in _every(top) if _key(shape) in names}

    def refer(schema: Schema) -> Schema:
        name = names.get(_key(schema)) if _is_shape(schema) else None
        return {"$ref": f"{SHAPES}{name}"} if name else rebuilt(schema, refer)

    named = {name: rebuilt(shapes[name], refer) for name in sorted(shapes)}
    return tuple(_with(operation, refer) for operation in operations), named


def rebuilt(schema: Schema, change: Callable[[Schema], Schema]) -> Schema:
    """Return a schema in which each schema directly inside it is changed."""
    found = dict(schema)
    if isinstance(properties := schema.get("properties"), Mapping):
        found["properties"] = {name: change(inner) for name, inner in properties.items()}
    if "anyOf" in schema:
        found["anyOf"] = [change(part) for part in schema["anyOf"]]
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            found[key] = change(schema[key])
    return found


def _hinted(operation: Operation) -> Iterator[Hinted]:
    name = "".join(part[:1].upper() + part[1:] for part in operation.id.split("."))
    for answer in operation.answers:
        if answer.schema is not None:
            is_good = answer.status is None or answer.status < 400
            yield f"{name}{'Answer' if is_good else f'Error{answer.status}'}", answer.schema
    if operation.body is not None:
        yield f"{name}Input", operation.body.schema


def _every(top: Iterable[Hinted]) -> Iterator[Hinted]:
    """Yield schemas and all schemas inside them, outer ones first and each one once."""
    level, opened = list(top), set[bytes]()
    while level:
        yield from level
        new = {_key(schema): (hint, schema) for hint, schema in reversed(level)}
        level = [
            inner for key, hinted in reversed(new.items()) if key not in opened
            for inner in _inside(*hinted)
        ]  # fmt: skip
        opened |= new.keys()


def _inside(hint: str, schema: Schema) -> Iterator[Hinted]:
    for name, inner in schema.get("properties", {}).items():
        yield f"{hint}{name[:1].upper()}{name[1:]}", inner
    for inner in schema.get("anyOf", ()):
        yield hint, inner
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield f"{hint}Item", schema[key]


def _is_shape(schema: Schema) -> bool:
    return schema.get("type") == "object" and bool(schema.get("properties"))


def _key(schema: Schema) -> bytes:
    return msgspec.json.encode(schema, order="deterministic")


def _free(name: str, taken: set[str]) -> str:
    found, number = name, 2
    while found in taken:
        found, number = f"{name}{number}", number + 1
    taken.add(found)
    return found


def _with(operation: Operation, change: Callable[[Schema], Schema]) -> Operation:
    body = operation.body and replace(operation.body, schema=change(operation.body.schema))
    answers = tuple(
        answer if answer.schema is None else replace(answer, schema=change(answer.schema))
        for answer in operation.answers
    )
    return replace(operation, body=body, answers=answers)
