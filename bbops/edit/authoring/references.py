"""Find every place of a project that names another resource.

Looks at the YAML itself, not at models: a file with a mistake elsewhere still counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from bbops.edit.authoring.naming import Name
from bbops.language.loading.likes import find_likes
from bbops.language.loading.load import kinds
from bbops.language.resources._crud import Crud, is_crud
from bbops.language.resources._kind import ANY, references_of
from bbops.source.yaml.document import Document
from bbops.source.yaml.nodes import Map, Mark, Seq


class Reference(NamedTuple):
    """A place that names a resource. `behind` follows the name there: `.id` of `users.id`."""

    to: Name
    mark: Mark
    behind: str = ""


_OF_STEPS = {
    **dict.fromkeys(("call", "enqueue"), ("function", "functions")),
    "publish": ("realtime", "realtime"),
    **dict.fromkeys(("find", "insert", "update", "delete"), ("table", "tables")),
}  # fmt: skip
_OWN = re.compile(r"([a-z][A-Za-z0-9]*)\.([a-z][A-Za-z0-9]*)").fullmatch
_BLOCKS = ("then", "else", "catch", "finally", "try", "transaction")


def find_references(file: str, document: Document) -> Iterator[Reference]:
    """Yield the references of one file, by its path from the project's root."""
    root, folder = document.root, file.partition("/")[0]
    if not isinstance(root, Map):
        return
    kind = kinds().get("" if file == "project.yaml" else folder)
    kind = Crud if folder == "endpoints" and is_crud(root) else kind
    for reference in references_of(kind) if kind else ():
        yield from _of_reference(root, reference.keys, reference.folder)
    yield from _of_likes(root)
    if folder in {"functions", "endpoints"}:
        yield from _of_steps(root.get("steps"))
    elif folder == "tables":
        yield from _of_columns(root.get("columns"))
    elif folder == "tests":
        yield from _of_test(root)


def _of_reference(node: Any, keys: tuple[str, ...], folder: str) -> Iterator[Reference]:
    """Yield the names at a path of keys; `ANY` is each member of a list or map."""
    first, *others = keys
    for inner, mark in _inside(node, first):
        if others:
            yield from _of_reference(inner, tuple(others), folder)
        else:
            yield from _reference(folder, inner, mark)


def _inside(node: Any, key: str) -> Iterator[tuple[Any, Mark]]:
    if isinstance(node, Map):
        names = node if key == ANY else [key] if key in node else []
        yield from ((node[name], node.values_at[name]) for name in names)
    elif isinstance(node, Seq) and key == ANY:
        yield from zip(node, node.items_at, strict=True)


def _of_steps(steps: Any) -> Iterator[Reference]:
    for step in steps if isinstance(steps, Seq) else ():
        if not isinstance(step, Map):
            continue
        yield from _of_addons(step)
        yield from _of_return(step.get("return"))
        for action, (key, kind) in _OF_STEPS.items():
            yield from _named(step.get(action), key, kind)
        for block in _BLOCKS:
            yield from _of_steps(step.get(block))
        for holder in ("loop", "cache"):
            inner = step.get(holder)
            yield from _of_steps(inner.get("steps") if isinstance(inner, Map) else None)
        others = step.get("elif")
        for other in others if isinstance(others, Seq) else ():
            yield from _of_steps(other.get("then") if isinstance(other, Map) else None)
        for holder in ("parallel", "cases"):
            branches = step.get(holder)
            for branch in branches.values() if isinstance(branches, Map) else ():
                yield from _of_steps(branch)


def _of_addons(node: Any) -> Iterator[Reference]:
    """Yield keys that may be steps of the project's own addons: `billing.createRefund`."""
    for key, mark in node.keys_at.items() if isinstance(node, Map) else ():
        if match := _OWN(key):
            yield Reference(Name("addons", f"{match[1]}/{match[2]}"), mark)


def _of_return(node: Any) -> Iterator[Reference]:
    """Yield the addon that streams a response, and the addon that keeps its file."""
    if isinstance(node, Map):
        yield from _of_addons(node.get("stream"))
        yield from _named(node, "from", "addons")


def _of_likes(root: Map) -> Iterator[Reference]:
    for field in find_likes(root):
        table, dot, name = str(field["like"]).partition(".")
        yield Reference(Name("tables", table), field.values_at["like"], f"{dot}{name}")


def _of_columns(columns: Any) -> Iterator[Reference]:
    for column in columns.values() if isinstance(columns, Map) else ():
        target = column.get("references") if isinstance(column, Map) else None
        if isinstance(target, str):
            table, dot, name = target.partition(".")
            mark = column.values_at["references"]
            yield Reference(Name("tables", table), mark, f"{dot}{name}")


def _of_test(root: Map) -> Iterator[Reference]:
    yield from _keys(root.get("data"))
    yield from _of_addons(root.get("mocks"))
    cases = root.get("cases")
    for case in cases if isinstance(cases, Seq) else ():
        expect = case.get("expect") if isinstance(case, Map) else None
        yield from _of_addons(case.get("mocks") if isinstance(case, Map) else None)
        yield from _of_addons(expect.get("calls") if isinstance(expect, Map) else None)
        yield from _keys(expect.get("rows") if isinstance(expect, Map) else None)


def _keys(node: Any) -> Iterator[Reference]:
    for name, mark in node.keys_at.items() if isinstance(node, Map) else ():
        yield Reference(Name("tables", name), mark)


def _named(node: Any, key: str, folder: str) -> Iterator[Reference]:
    if isinstance(node, Map) and key in node:
        yield from _reference(folder, node[key], node.values_at[key])


def _reference(folder: str, name: Any, mark: Mark) -> Iterator[Reference]:
    if isinstance(name, str):
        yield Reference(Name(folder, str(name)), mark)
