"""The answers of a function by status: from its declaration, else from its steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bbops.compiler.check import CheckedProject
from bbops.language.addons._base import AddonStep
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.types import (
    ANY,
    TEXT,
    Type,
    joined,
    list_of,
    map_of,
    type_of_constant,
)
from bbops.language.expressions.values import (
    Constant,
    Expression,
    ListValue,
    MapValue,
    Template,
    Value,
)
from bbops.language.json_schema import Schema, any_of, field_schema, type_schema
from bbops.language.steps._base import Step
from bbops.language.steps.return_ import Return
from bbops.language.steps.throw import Throw
from bbops.runtime.values.file_types import UNKNOWN

JSON = "application/json"
BINARY: Final[Schema] = {"type": "string", "format": "binary"}
"""The schema of a binary body."""


def object_schema(fields: dict[str, Schema]) -> Schema:
    """Return the schema of a map with all of these fields."""
    return {"type": "object", "properties": fields, "required": [*fields]}


EVENTS: Final = "text/event-stream"
_TEXT: Final[Schema] = {"type": "string"}
_ERROR: Final = object_schema({"code": _TEXT, "message": _TEXT, "requestId": _TEXT})


def stream_schema(step: Step) -> Schema:
    """Return the schema of the events that a step is streamed as.

    As "sequential media types" in OpenAPI 3.2: the whole is a list of events.
    """
    gives = step.action.gives if isinstance(step, AddonStep) else ANY
    datas = {"text": object_schema({"text": _TEXT}), "done": type_schema(gives), "error": _ERROR}
    events = [
        object_schema({"event": {"enum": [name]}, "data": data}) for name, data in datas.items()
    ]
    return {"type": "array", "items": {"anyOf": events}}


@dataclass(frozen=True, slots=True)
class Output:
    """An answer of a function; a status of None is known only at run time.

    Attributes:
        schema: the schema of its body; None without a body, or for the automatic body of an error.
        content_type: the type of its body, empty without a body.
        is_error: a `throw`.
    """

    status: int | None
    schema: Schema | None
    content_type: str = JSON
    is_error: bool = False


def outputs(project: CheckedProject, function: str) -> tuple[Output, ...]:
    """Return every answer of a function that was checked without mistakes, by status.

    Errors of its middleware and of functions that it calls are not included.
    """
    model = project.functions[function].model
    scope = project.flows.of(function).scope
    if model.output:
        declared = [
            Output(int(status), field_schema(field), is_error=int(status) >= 400)
            for status, field in sorted(model.output.items())
        ]  # fmt: skip
        steps = (output for step in _every(model.steps) for output in _output(step, scope))
        return tuple(
            _merged([*declared, *(output for output in steps if output.content_type == EVENTS)])
        )
    found = [output for step in _every(model.steps) for output in _output(step, scope)]
    if all(output.is_error for output in found):
        found.append(Output(200, None, ""))
    return tuple(_merged(found))


def _every(steps: Sequence[Step]) -> Iterator[Step]:
    for step in steps:
        yield step
        for block in step.blocks():
            yield from _every(block)


def _output(step: Step, scope: Scope) -> Iterator[Output]:
    if isinstance(step, Return):
        answer = step.return_
        status = _status(answer.status)
        if answer.stream is not None:
            yield Output(200, stream_schema(answer.stream), EVENTS)
        elif answer.file is not None and status not in {204, 304}:
            yield Output(status, BINARY, step.fixed_type or UNKNOWN)
        elif "value" not in answer.model_fields_set or status in {204, 304}:
            yield Output(status, None, "")
        elif answer.value is None:
            yield Output(status, {"type": "null"})
        elif answer.content_type is not None:
            is_bytes = type_of(answer.value, scope).kind == "binary"
            written: Schema = BINARY if is_bytes else {"type": "string"}
            yield Output(status, written, step.fixed_type or _ANY)
        else:
            yield Output(status, type_schema(type_of(answer.value, scope)))
    elif isinstance(step, Throw) and "status" in step.throw.model_fields_set:
        value = step.throw.value
        schema = None if value is None else type_schema(type_of(value, scope))
        yield Output(_status(step.throw.status), schema, is_error=True)


_ANY = "*/*"
"""The content type of an answer with a computed type (OpenAPI 3.1, section 4.8.14)."""


def _status(value: Value) -> int | None:
    number = value.value if isinstance(value, Constant) else None
    return number if isinstance(number, int) else None


def type_of(value: Value, scope: Scope) -> Type:
    """Return the type of a value that was checked in the scope."""
    match value:
        case Constant():
            return type_of_constant(value.value)
        case Expression():
            return scope.types.get(id(value.node), ANY)
        case Template():
            return TEXT
        case MapValue():
            return map_of({name: type_of(item, scope) for name, item in value.items})
        case ListValue():
            return list_of(joined([type_of(item, scope) for item in value.items]))
        case _:
            return ANY


def _merged(found: list[Output]) -> Iterator[Output]:
    keys = dict.fromkeys((output.status, output.content_type, output.is_error) for output in found)
    for status, content_type, is_error in sorted(keys, key=_rank):
        same = [
            output.schema for output in found
            if (output.status, output.content_type, output.is_error)
            == (status, content_type, is_error)
        ]  # fmt: skip
        known = [schema for schema in same if schema is not None]
        yield Output(status, any_of(known) if known else None, content_type, is_error)


def _rank(key: tuple[int | None, str, bool]) -> tuple[int, str, bool]:
    status, content_type, is_error = key
    return (1000 if status is None else status), content_type, is_error
