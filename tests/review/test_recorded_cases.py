"""Cases of tests from requests of the Playground: no secrets, no expressions, no made-up values."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bbops.base.errors import BbopsError
from bbops.review.contract.form_requests import FilledForm, FormPart
from bbops.review.contract.recorded_cases import SAMPLE_SECRET, write_case
from tests.support.request_forms import form_of, operation


def case(values: dict[str, str], response: Any = None, **more: Any) -> dict[str, Any]:
    user = more.pop("user", "")
    filled = FilledForm({"path:id": ("7",)} | {k: (v,) for k, v in values.items()}, **more)
    return write_case(
        operation(), form_of(operation()), filled, name="adds", status=201,
        response=json.dumps(response), user=user,
    )  # fmt: skip


def test_case_expects_the_sent_values_only() -> None:
    found = case(
        {"body:title": "Milk", "body:count": "3", "query:page": "2"},
        {"id": 4127, "title": "Milk", "count": 4, "at": "2026-01-02"}, user="7",
    )  # fmt: skip
    assert found == {
        "name": "adds", "auth": {"userId": "7"}, "params": {"id": "7"}, "query": {"page": "2"},
        "input": {"title": "Milk", "count": 3},
        "expect": {"status": 201, "value": {"title": "Milk"}},
    }  # fmt: skip


def test_secrets_are_replaced() -> None:
    found = case({"body:password": "my own"}, headers=(("x-api-key", "my own"),))
    assert "my own" not in json.dumps(found)
    assert found["input"] == {"password": SAMPLE_SECRET}


def test_expressions_are_escaped() -> None:
    found = case({"body:title": "${ env.SECRET }"}, {"title": "${ env.SECRET }"})
    assert found["input"] == {"title": "$${ env.SECRET }"}
    assert found["expect"]["value"] == {"title": "$${ env.SECRET }"}


def test_invalid_json_and_files_are_rejected() -> None:
    with pytest.raises(BbopsError, match="not valid JSON"):
        case({}, body="{")
    with pytest.raises(BbopsError, match="files"):
        case({}, files=(FormPart("f", b"", "a.png"),))
    with pytest.raises(BbopsError, match="levels deep"):
        case({}, body="[" * 60 + "]" * 60)
