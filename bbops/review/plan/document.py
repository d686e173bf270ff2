"""Write a plan as JSON, and the schema of that JSON."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from bbops.review.contract.files import schema_of
from bbops.review.plan.plan import Plan, digest
from bbops.source.tree import Tree

FILE = "plan.schema.json"


@dataclass(frozen=True, slots=True)
class Side:
    """A side of the plan: one of the two projects.

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
        version: the version of this form; keys may be added, but never removed or redefined.
        digest: the name of the plan, so that a merge can be bound to the reviewed one.
        changes: whether it changes anything.
    """

    version: Literal[1]
    base: Side
    head: Side
    digest: str
    changes: bool
    plan: Plan


def describe(plan: Plan, base: Tree, head: Tree) -> Document:
    """Return the document of a plan between two trees.

    Args:
        plan: the plan between the projects of the trees.
        base: the old files.
        head: the new files.
    """
    before, after = Side(base.revision, tree_id(base)), Side(head.revision, tree_id(head))
    named = digest(plan, changed_files(base, head))
    return Document(1, before, after, named, not plan.is_empty, plan)


def changed_files(base: Tree, head: Tree) -> list[tuple[str, str]]:
    """Return the path and the new blob of each changed file; empty for a removed file."""
    old = {entry.path: (entry.blob, entry.kind) for entry in base.entries()}
    new = {entry.path: (entry.blob, entry.kind) for entry in head.entries()}
    paths = {path for path in (*old, *new) if old.get(path) != new.get(path)}
    return [(path, new[path][0] if path in new else "") for path in sorted(paths)]


def tree_id(tree: Tree) -> str:
    """Return an id that trees with the same files share, in a folder or in a commit."""
    files = sorted((entry.path, entry.blob, entry.kind) for entry in tree.entries())
    return hashlib.sha256(msgspec.json.encode(files)).hexdigest()


def encode(document: Document) -> dict[str, Any]:
    """Return a document as JSON values."""
    found: dict[str, Any] = msgspec.to_builtins(document)
    return found


def schema_file() -> dict[str, str]:
    """Return the text of the schema's file by its name."""
    return {FILE: schema_of(Document)}
