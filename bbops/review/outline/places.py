"""Lines and texts of a resource's file."""

from __future__ import annotations

from typing import Any

from bbops.language.project import Resource
from bbops.review.outline.effects import summarize


def first_line(resource: Resource[Any], key: str) -> int:
    """Return the line on which a resource begins.

    Args:
        resource: the resource.
        key: a key of it, whose line counts if the file has several resources.
    """
    own = resource.file.endswith(f"/{resource.name}.yaml")
    return 1 if own else resource.place(key).line


def line_of(resource: Resource[Any], *path: str | int) -> int:
    """Return the line of a key."""
    return resource.place(*path, key=True).line


def text_at(resource: Resource[Any], *path: str | int) -> str:
    """Return a scalar as the file has it, in one line; empty if there is none."""
    node = resource.document.root
    for part in path:
        inside = isinstance(node, dict) and part in node
        if not inside and not (isinstance(node, list) and isinstance(part, int)):
            return ""
        node = node[part]
    return "" if isinstance(node, dict | list | None) else summarize(node)
