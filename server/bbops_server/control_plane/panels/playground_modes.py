"""Switch the body of the Playground between fields and one JSON text; typed values stay."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from litestar.exceptions import ClientException

from bbops.review.contract.form_fields import FormField, RequestForm
from bbops.review.contract.form_requests import write_body
from bbops_server.control_plane.panels.playground_forms import PageForm, show_value

LEFT_OUT: Final = "Passwords and files are not shown again: give them again."
_INVALID: Final = (ValueError, RecursionError)
"""Errors of the parser; a text may be nested too deeply."""


def switch_mode(form: RequestForm, given: PageForm) -> PageForm:
    """Return the form with its body as JSON, or as fields if it is JSON.

    Raises:
        ClientException: the JSON text cannot be shown in the fields of the form.
    """
    return _show_fields(form, given) if given.is_json else _show_json(form, given)


def find_left_out(form: RequestForm, given: PageForm) -> str:
    """Return the sentence about values that a switch does not keep; empty if there are none."""
    secrets = (given.filled.values.get(item.name) for item in _secrets(form))
    has_secret = any(any(texts) for texts in secrets if texts)
    return LEFT_OUT if given.filled.files or has_secret else ""


def _show_json(form: RequestForm, given: PageForm) -> PageForm:
    shown = [item for item in form.of("body") if item.widget != "secret"]
    text = write_body(shown, given.filled).decode()
    with suppress(*_INVALID):  # a field of JSON may be half typed
        text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    return replace(given, is_json=True, filled=replace(given.filled, body=text, files=()))


def _show_fields(form: RequestForm, given: PageForm) -> PageForm:
    body = _read_object(given.filled.body or "{}")
    fields = {item.label: item for item in form.of("body")}
    if unknown := next((name for name in body if name not in fields), None):
        raise ClientException(
            f"the form has no field '{unknown[:100]}'; remove it from the JSON to show the form"
        )
    others = {item.name for item in form.fields if item.place != "body"}
    values = {name: texts for name, texts in given.filled.values.items() if name in others}
    values |= {fields[name].name: (_text(fields[name], value),) for name, value in body.items()}
    return replace(given, is_json=False, filled=replace(given.filled, values=values, body=None))


def _read_object(text: str) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except _INVALID as error:
        raise ClientException(f"the body is not valid JSON: {error}; repair it first") from None
    if not isinstance(body, dict):
        raise ClientException("the body is not an object, which the form shows; it stays JSON")
    return body


def _text(item: FormField, value: Any) -> str:
    return "" if item.widget == "secret" else show_value(value, is_json=item.widget == "json")


def _secrets(form: RequestForm) -> list[FormField]:
    return [item for item in form.of("body") if item.widget == "secret"]
