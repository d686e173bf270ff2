"""A request and its response as a case of a test, with a made-up row of its user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from pydantic import ValidationError

from bbops.base.errors import BbopsError
from bbops.language.json_schema import field_schema
from bbops.language.loading.likes import as_field
from bbops.language.resources.table import Column, Table
from bbops.language.shape import Field
from bbops.review.contract.contract import Operation
from bbops.review.contract.examples import sample_of
from bbops.review.contract.form_fields import RequestForm
from bbops.review.contract.form_requests import FORM, FilledForm, fill_form, write_body
from bbops.runtime.flow.masking import MASK, is_hidden, mask_text
from bbops.runtime.values.failures import NOTHING

SAMPLE_SECRET: Final = "correct horse battery staple"  # noqa: S105 - a sample, no secret
_MAX_DEPTH: Final = 50


def write_case(
    operation: Operation, form: RequestForm, filled: FilledForm, *,
    name: str, status: int, response: str, user: str = "",
) -> dict[str, Any]:  # fmt: skip
    """Return the case: its input, and the status and the echoed values of its response.

    Secrets become SAMPLE_SECRET, and a required secret that was not given, too. Values that the
    response has made up, such as ids and times, are not expected: they differ in each run.

    Args:
        name: of the case.
        response: the body of the response; empty if it is not known.
        user: the id of the signed-in user; empty without one.

    Raises:
        BbopsError: the body is not valid JSON, or the request has files.
    """
    if filled.files:
        raise BbopsError("a request with files cannot be saved as a test", hint="write 'files'")
    request = fill_form(operation, form, filled)
    given = _input(form, filled)
    params = {
        item.label: _safe(item.label, texts[0])
        for item in form.of("path")
        if (texts := filled.values.get(item.name))
    }
    headers = {key: value for key, value in request.headers if key != "content-type"}
    expect: dict[str, Any] = {"status": status}
    echoed = _echoed(given, response)
    if echoed:
        expect["value"] = echoed
    parts = {
        "auth": {"userId": escape(user)} if user else None,
        "params": params, "query": _safe_texts(dict(request.query)),
        "headers": _safe_texts(headers), "input": given,
    }  # fmt: skip
    return {"name": name, **{key: part for key, part in parts.items() if part}, "expect": expect}


def escape(text: str) -> str:
    """Return a text that holds no expression."""
    return text.replace("${", "$${")


def _input(form: RequestForm, filled: FilledForm) -> Any:
    if filled.body is None and form.content_type == FORM:
        pairs = [(item.label, filled.values.get(item.name, ())) for item in form.of("body")]
        given: Any = {label: texts[0] for label, texts in pairs if texts and texts[0]}
    else:
        given = _parse(filled.body.encode() if filled.body is not None else _fields(form, filled))
    if isinstance(given, dict):
        secrets = [item for item in form.of("body") if item.widget == "secret"]
        needed = [item.label for item in secrets if item.is_required]
        given = {**given, **{label: SAMPLE_SECRET for label in needed if not given.get(label)}}
    return _safe_value(given)


def _fields(form: RequestForm, filled: FilledForm) -> bytes:
    return write_body(form.of("body"), filled) if form.has_fields else b""


# ---- A made-up row of a table, for tests that need one: nothing in it comes from a database


def _parse(body: bytes) -> Any:
    if not body.strip():
        return None
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BbopsError(
            "the body is not valid JSON, so no test can hold it", hint="correct the body"
        ) from None


def _safe_texts(texts: Mapping[str, str]) -> dict[str, str]:
    return {name: _safe(name, text) for name, text in texts.items()}


def _safe(name: str, text: str) -> str:
    return SAMPLE_SECRET if is_hidden(name) or MASK in mask_text(text) else escape(text)


def _safe_value(value: Any, name: str = "", depth: int = 0) -> Any:
    if depth > _MAX_DEPTH:
        raise BbopsError(f"the body is more than {_MAX_DEPTH} levels deep", hint="shorten it")
    if isinstance(value, dict):
        return {key: _safe_value(inner, key, depth + 1) for key, inner in value.items()}
    if isinstance(value, list):
        return [_safe_value(inner, name, depth + 1) for inner in value]
    if is_hidden(name) and value is not None:
        return SAMPLE_SECRET
    return _safe(name, value) if isinstance(value, str) else value


def _echoed(given: Any, response: str) -> dict[str, Any]:
    """Return the members of the response that the request has sent, too."""
    try:
        value = msgspec.json.decode(response.encode(errors="replace"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    if not isinstance(value, dict) or not isinstance(given, dict):
        return {}
    common: Sequence[str] = [key for key in value if key in given and not is_hidden(key)]
    return {key: given[key] for key in common if _is_equal(given[key], value[key])}


def _is_equal(sent: Any, received: Any) -> bool:
    shown = escape(received) if isinstance(received, str) else received
    return bool(sent == shown and isinstance(sent, str | int | float) and sent != "")


EMAIL: Final = "ada@example.com"
_INTEGERS: Final = frozenset({"integer", "bigint"})


def sample_row(body: Mapping[str, Any], key: str) -> dict[str, Any] | None:
    """Return a row of a table with a given primary key, and a value in each required column.

    Args:
        body: the table, as its file has it.
        key: the primary key as text.

    Returns:
        None if no row can be made up: the primary key has several columns, a required column
        refers to another table or copies its type by `like`, or the table is not valid.
    """
    table = _parse_table(body)
    if table is None or len(table.key) != 1 or table.key[0] not in table.columns:
        return None
    row: dict[str, Any] = {str(table.key[0]): _key(table.columns[table.key[0]], key)}
    for name, column in table.columns.items():
        if name in row or not _is_required(column):
            continue
        value = NOTHING if column.references else _sample(table, name)
        if value is NOTHING:
            return None
        row[str(name)] = value
    return row


def has_row(body: Mapping[str, Any], rows: object, key: str) -> bool:
    """Return whether rows of a table, as a file has them, include a primary key."""
    table = _parse_table(body)
    if table is None or len(table.key) != 1 or not isinstance(rows, list):
        return False
    return any(isinstance(row, dict) and str(row.get(table.key[0])) == key for row in rows)


def _parse_table(body: Mapping[str, Any]) -> Table | None:
    try:
        return Table.model_validate(body)
    except ValidationError:
        return None


def _key(column: Column, key: str) -> int | str:
    return int(key) if column.type in _INTEGERS and key.isdecimal() else escape(key)


def _is_required(column: Column) -> bool:
    return not column.nullable and column.auto is None and column.default is None


def _sample(table: Table, name: str) -> Any:
    column = table.columns[name]
    if column.type == "string" and "email" in name and not column.enum:
        return EMAIL
    field = as_field(Field.model_validate({"like": f"table.{name}"}), {"table": table})
    return sample_of(field_schema(field)) if field.like is None else NOTHING
