"""The formats that a contract is written in, by name."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import msgspec

from bbops.review.contract.asyncapi import render_asyncapi
from bbops.review.contract.contract import Contract
from bbops.review.contract.files import schema_of
from bbops.review.contract.markdown import render_markdown
from bbops.review.contract.openapi import render_openapi
from bbops.review.contract.python import render_python
from bbops.review.contract.typescript import render_typescript

FILE: Final = "contract.schema.json"


class Format(NamedTuple):
    """How a contract is written, and what that is called in HTTP."""

    render: Callable[[Contract], str]
    content_type: str


def render_json(contract: Contract) -> str:
    """Return the text of the contract itself, in the form of schemas/contract.schema.json."""
    return json.dumps(msgspec.to_builtins(contract), indent=2, ensure_ascii=False) + "\n"


def schema_file() -> dict[str, str]:
    """Return the text of the schema of `render_json` by its file's name."""
    return {FILE: schema_of(Contract)}


FORMATS: Final[Mapping[str, Format]] = {
    "openapi": Format(render_openapi, "application/json"),
    "asyncapi": Format(render_asyncapi, "application/json"),
    "json": Format(render_json, "application/json"),
    "markdown": Format(render_markdown, "text/markdown"),
    "typescript": Format(render_typescript, "text/plain"),
    "python": Format(render_python, "text/x-python"),
}
