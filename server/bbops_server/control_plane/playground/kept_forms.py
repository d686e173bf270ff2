"""The form of a request that was sent before: kept without secrets, files and long bodies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from bbops.review.contract.form_requests import FilledForm
from bbops.review.contract.snippets import mask_body
from bbops.runtime.flow.masking import MASK, is_hidden, mask_text

_MAX_KEPT: Final = 16_000


def write_form(filled: FilledForm) -> str:
    """Return a filled form as JSON, without secrets and files; a long body is left out."""
    body = None if filled.body is None else mask_body(filled.body.encode(errors="replace"))
    kept: dict[str, Any] = {
        "values": {
            name: [_mask(name.partition(":")[2], text) for text in texts]
            for name, texts in filled.values.items()
        },
        "empty": sorted(filled.empty), "body": body,
        "query": [(name, _mask(name, value)) for name, value in filled.query],
        "headers": [(name, _mask(name, value)) for name, value in filled.headers],
    }  # fmt: skip
    text = json.dumps(kept)
    return text if len(text) <= _MAX_KEPT else json.dumps({"values": {}, "body": None})


def read_form(text: str) -> FilledForm:
    """Return a kept form; masked values are empty."""
    kept: Mapping[str, Any] = json.loads(text)
    values = {
        name: tuple("" if MASK in value else value for value in texts)
        for name, texts in kept.get("values", {}).items()
    }
    pairs = {
        key: tuple((name, value) for name, value in kept.get(key, ()) if MASK not in value)
        for key in ("query", "headers")
    }
    return FilledForm(
        values, frozenset(kept.get("empty", ())), kept.get("body"), pairs["query"],
        pairs["headers"],
    )  # fmt: skip


def _mask(name: str, value: str) -> str:
    if is_hidden(name):
        return MASK
    is_json = value[:1] in {"{", "["}
    return mask_body(value.encode(errors="replace")) if is_json else mask_text(value)
