"""Write a plan as JSON, and the schema that the JSON keeps to."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from bbops.plan.plan import Plan

FILE = "plan.schema.json"
DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two projects.

    Attributes:
        revision: for example `main@sha1:…`, or `working-tree`.
        tree: the id of its files.
    """

    revision: str
    tree: str


@dataclass(frozen=True, slots=True)
class Document:
    """A plan between two trees.

    Attributes:
        version: of this form; a key may join it, none goes or changes its meaning.
        digest: names the plan, so that a merge can be held to what was reviewed.
        changes: whether it does anything.
    """

    version: Literal[1]
    base: Side
    head: Side
    digest: str
    changes: bool
    plan: Plan


def encode(document: Document) -> dict[str, Any]:
    """Return a document as values of JSON."""
    found: dict[str, Any] = msgspec.to_builtins(document)
    return found


def schema_file() -> dict[str, str]:
    """Return the text of the schema's file by its name."""
    found = {"$schema": DIALECT, **msgspec.json.schema(Document)}
    return {FILE: json.dumps(found, indent=1, ensure_ascii=False) + "\n"}
