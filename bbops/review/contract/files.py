"""Schemas as files, and the formats of a contract."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from bbops.language.loading.load import folder_of_key
from bbops.language.project import Project
from bbops.review.contract.asyncapi import render_asyncapi
from bbops.review.contract.contract import Contract
from bbops.review.contract.editor import DIALECT, Names, schemas
from bbops.review.contract.openapi import render_openapi
from bbops.review.contract.python import render_python
from bbops.review.contract.typescript import render_typescript
from bbops.review.contract.wording import render_markdown


def schema_files(names: Names | None = None) -> dict[str, str]:
    """Return the text of each schema's file by its name, such as `endpoint.schema.json`."""
    return {
        f"{kind}.schema.json": json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
        for kind, schema in schemas(names).items()
    }


def names_of(project: Project) -> dict[str, list[str]]:
    """Return the names that a file of the project may refer to, by folder."""
    references = [
        f"{name}.{column}"
        for name, table in project.tables.items()
        for column, found in table.model.columns.items()
        if found.unique or (column,) == table.model.key
    ]
    return {
        **{
            folder: sorted({*project.resources[folder], *_broken(project, folder)})
            for folder in sorted({*folder_of_key().values()})
        },
        "references": sorted(references),
    }


def _broken(project: Project, folder: str) -> set[str]:
    """Return the names of unreadable files, which exist nevertheless."""
    return {name for kind, name in project.broken if kind == folder}


def schema_of(kind: type) -> str:
    """Return the text of the schema of a dataclass, with the docstrings of its attributes."""
    schema = msgspec.json.schema(kind)
    schema["$defs"] = {name: _described(definition) for name, definition in schema["$defs"].items()}
    text = json.dumps({"$schema": DIALECT, **schema}, indent=1, ensure_ascii=False)
    return f"{text}\n"


def _described(definition: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a class with descriptions from its docstring."""
    about, _, attributes = definition.pop("description", "").partition("Attributes:")
    properties = definition["properties"]
    for name, text in _ATTRIBUTE.findall(attributes):
        properties[name] = {**properties[name], "description": " ".join(text.split())}
    return {"description": " ".join(about.split()), **definition}


_ATTRIBUTE = re.compile(r"^ +(\w+): ((?:.|\n(?! +\w+: ))+)", re.MULTILINE)


# ---- The formats that a contract is written in, by name

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
