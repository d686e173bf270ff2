"""An endpoint with each kind of parameter and body field, and its form."""

from __future__ import annotations

from bbops.language.json_schema import Schema
from bbops.review.contract.contract import Body, Operation, Parameter
from bbops.review.contract.form_fields import JSON, RequestForm, describe_form

TEXT: Schema = {"type": "string"}
NOTE: Schema = {
    "type": "object",
    "required": ["title"],
    "properties": {
        "title": {**TEXT, "minLength": 1, "maxLength": 20},
        "count": {"type": ["integer", "null"], "minimum": 1, "maximum": 9},
        "done": {"type": "boolean"},
        "state": {**TEXT, "enum": ["new", "old"]},
        "due": {**TEXT, "format": "date"},
        "tags": {"type": "array", "items": TEXT},
        "price": {**TEXT, "format": "decimal"},
        "password": TEXT,
    },
}
PAGE = Parameter(
    "page", "query", required=False, schema={"type": "integer", "minimum": 1}, description="Page."
)
IDS = Parameter("ids", "query", required=False, schema={"type": "array", "items": TEXT})
AT = Parameter(
    "at", "query", required=False, schema={"type": "object", "properties": {"gte": TEXT}}
)
TRACE = Parameter("x-trace", "header", required=False, schema=TEXT)


def operation(
    method: str = "POST", path: str = "/notes/{id}", body: Schema | None = NOTE, kind: str = JSON
) -> Operation:
    path_id = Parameter("id", "path", required=True, schema={**TEXT, "minLength": 1})
    sent = None if body is None else Body(kind, required=True, schema=body)
    parameters = (path_id, PAGE, IDS, AT, TRACE)
    return Operation(
        "notes.add", "notes", method, path, None, "", (), is_open=True, rate_limit=0,
        parameters=parameters, body=sent, answers=(), examples=(),
    )  # fmt: skip


def form_of(found: Operation, **shapes: Schema) -> RequestForm:
    return describe_form(found, shapes)
