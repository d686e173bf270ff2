"""The form of an operation: one field for each parameter, body field and file.

A form helps, and never validates: invalid input can be sent, to see the error of the API.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from bbops.language.json_schema import Schema
from bbops.review.contract.contract import SHAPES, Body, Operation, Parameter
from bbops.runtime.flow.masking import is_hidden

JSON: Final = "application/json"
Place = Literal["path", "query", "header", "body", "file"]
Widget = Literal["text", "long", "number", "choice", "date", "secret", "lines", "json", "file"]
"""`lines` has one value per line; `json` is a nested value; `secret` is not shown again."""

_LONG_TEXT: Final = 200
_MAX_CHOICES: Final = 100
_EXAMPLES: Final = {
    "date-time": "2026-01-02T03:04:05Z", "date": "2026-01-02", "email": "ada@example.com",
    "uuid": "00000000-0000-4000-8000-000000000001", "uri": "https://example.com",
    "decimal": "1.50",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of the form.

    Attributes:
        name: the name of the input, such as `query:page`.
        label: the name in the request, such as `page` or `created_at[gte]`.
        type: the type in words, such as `text?`.
        is_text: whether the value is sent as a JSON text, even if it looks like a number.
        choices: the values of a `choice`.
        hint: the bounds in words.
        sample: a valid value, to show in the empty field.
        pattern: a regular expression, or empty.
        is_repeated: whether a file input takes several files.
    """

    name: str
    place: Place
    label: str
    widget: Widget
    type: str
    is_required: bool
    is_text: bool = True
    description: str = ""
    choices: tuple[str, ...] = ()
    hint: str = ""
    sample: str = ""
    pattern: str = ""
    is_repeated: bool = False


@dataclass(frozen=True, slots=True)
class RequestForm:
    """The fields of an operation's request.

    Attributes:
        content_type: of the body; empty without a body.
        has_fields: whether the body is an object with known fields; else it is one JSON text.
    """

    fields: tuple[FormField, ...]
    content_type: str = ""
    has_fields: bool = False

    def of(self, *places: Place) -> tuple[FormField, ...]:
        """Return the fields of these places."""
        return tuple(field for field in self.fields if field.place in places)


def describe_form(operation: Operation, shapes: Mapping[str, Schema]) -> RequestForm:
    """Return the form of an operation.

    Args:
        shapes: the shapes of the contract, to which schemas refer.
    """
    fields = [field for parameter in operation.parameters for field in _describe(parameter, shapes)]
    body = operation.body
    if body is None:
        return RequestForm(tuple(fields))
    inside = tuple(_body_fields(body, shapes))
    return RequestForm((*fields, *inside), body.content_type, bool(inside))


def resolve(schema: Schema, shapes: Mapping[str, Schema]) -> tuple[Schema, bool]:
    """Return a schema without reference and without null, and whether it takes null."""
    if "$ref" in schema:
        return resolve(shapes.get(schema["$ref"].removeprefix(SHAPES), {}), shapes)
    options = schema.get("anyOf")
    if options:
        others = [option for option in options if option.get("type") != "null"]
        is_nullable = len(others) < len(options)
        return (resolve(others[0], shapes)[0] if len(others) == 1 else {}), is_nullable
    kind = schema.get("type")
    if isinstance(kind, list):
        kinds = [word for word in kind if word != "null"]
        rest = {name: value for name, value in schema.items() if name != "type"}
        return ({**rest, "type": kinds[0]} if len(kinds) == 1 else rest), "null" in kind
    return schema, False


def _describe(parameter: Parameter, shapes: Mapping[str, Schema]) -> Iterator[FormField]:
    schema, _ = resolve(parameter.schema, shapes)
    if parameter.is_deep:
        for name, inner in schema["properties"].items():
            label = f"{parameter.name}[{name}]"
            about = inner.get("description", "")
            yield _field("query", label, inner, shapes, about, is_required=False)
        return
    yield _field(
        parameter.place, parameter.name, schema, shapes, parameter.description,
        is_required=parameter.required,
    )  # fmt: skip


def _body_fields(body: Body, shapes: Mapping[str, Schema]) -> Iterator[FormField]:
    schema, _ = resolve(body.schema, shapes)
    required = schema.get("required", ())
    for name, given in schema.get("properties", {}).items():
        inner, _ = resolve(given, shapes)
        place: Place = "file" if _is_file(inner) else "body"
        about = given.get("description", "")
        yield _field(place, name, given, shapes, about, is_required=name in required)


def _field(
    place: Place, label: str, given: Schema, shapes: Mapping[str, Schema], about: str, *,
    is_required: bool,
) -> FormField:  # fmt: skip
    schema, is_nullable = resolve(given, shapes)
    widget = _widget(place, label, schema)
    choices = _choices(schema)
    return FormField(
        f"{place}:{label}", place, label, widget, _type(schema, is_required=is_required),
        is_required, is_text=schema.get("type") == "string", description=about, choices=choices,
        hint=_hint(schema, is_nullable=is_nullable and place == "body"), sample=_sample(schema),
        pattern=str(schema.get("pattern", "")), is_repeated=schema.get("type") == "array",
    )  # fmt: skip


def _widget(place: Place, label: str, schema: Schema) -> Widget:
    kind = schema.get("type")
    if place == "file":
        return "file"
    if _choices(schema):
        return "choice"
    if kind == "array" and place != "body":
        return "lines"
    if kind in {"array", "object", None}:
        return "json" if place == "body" else "text"
    if kind in {"integer", "number"}:
        return "number"
    return _text_widget(label, schema)


def _text_widget(label: str, schema: Schema) -> Widget:
    if is_hidden(label):
        return "secret"
    if schema.get("format") == "date":
        return "date"
    return "long" if schema.get("maxLength", 0) > _LONG_TEXT else "text"


def _is_file(schema: Schema) -> bool:
    one = schema.get("items", schema)
    return isinstance(one, Mapping) and one.get("format") == "binary"


def _choices(schema: Schema) -> tuple[str, ...]:
    if schema.get("type") == "boolean":
        return ("true", "false")
    values = schema.get("enum", ())
    if not 0 < len(values) <= _MAX_CHOICES:
        return ()
    return tuple(show(value) for value in values)


def show(value: Any) -> str:
    """Return a JSON scalar as it is typed into a field."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)


def _type(schema: Schema, *, is_required: bool) -> str:
    kind = schema.get("type", "any value")
    word = {"string": schema.get("format", "text"), "array": "list", "object": "object"}.get(
        kind, kind
    )
    if "enum" in schema:
        word = "choice"
    return str(word) if is_required else f"{word}?"


def _hint(schema: Schema, *, is_nullable: bool) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    parts = [
        f"at least {low}" if low is not None else "",
        f"at most {high}" if high is not None else "",
        _lengths(schema, "minLength", "maxLength", "characters"),
        _lengths(schema, "minItems", "maxItems", "items"),
        f"default {show(schema['default'])}" if _is_scalar(schema.get("default")) else "",
        "null is allowed" if is_nullable else "",
    ]
    return ", ".join(filter(None, parts))


def _lengths(schema: Schema, least: str, most: str, unit: str) -> str:
    low, high = schema.get(least), schema.get(most)
    if low is not None and high is not None:
        return f"{low} to {high} {unit}"
    if low is not None:
        return f"at least {low} {unit}"
    return f"at most {high} {unit}" if high is not None else ""


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float)


def _sample(schema: Schema) -> str:
    return _EXAMPLES.get(schema.get("format", ""), "")
