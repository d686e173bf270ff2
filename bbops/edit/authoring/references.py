"""Find every place of a project that names another resource.

Looks at the YAML itself, not at models: a file with a mistake elsewhere still counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from bbops.edit.authoring.naming import Name
from bbops.source.yaml.document import Document
from bbops.source.yaml.nodes import Map, Mark, Seq


class Reference(NamedTuple):
    """A place that names a resource. `behind` follows the name there: `.id` of `users.id`."""

    to: Name
    mark: Mark
    behind: str = ""


_SINGLE = {"function": "functions", "channel": "channels", "endpoint": "endpoints"}
_OF_STEPS = {
    "call": ("function", "functions"), "publish": ("realtime", "realtime"),
    **dict.fromkeys(("find", "insert", "update", "delete"), ("table", "tables")),
}  # fmt: skip
_BLOCKS = ("then", "else", "catch", "finally", "try", "transaction")
_SESSION = ("login", "signup", "refresh", "logout")


def find_references(file: str, document: Document) -> Iterator[Reference]:
    """Yield the references of one file, by its path from the project's root."""
    root, folder = document.root, file.partition("/")[0]
    if not isinstance(root, Map):
        return
    if file == "project.yaml":
        yield from _named(root.get("auth"), "users", "tables")
        for key in _SESSION:
            yield from _named(root.get("session"), key, "endpoints")
    elif folder == "functions":
        yield from _of_steps(root.get("steps"))
    elif folder == "tables":
        yield from _of_columns(root.get("columns"))
    elif folder == "tests":
        yield from _of_test(root)
    if folder != "functions":
        yield from _of_resource(root)


def _of_resource(root: Map) -> Iterator[Reference]:
    for key, kind in _SINGLE.items():
        yield from _named(root, key, kind)
    for key in ("middleware", "tools"):
        names = root.get(key)
        if isinstance(names, Seq):
            for name, mark in zip(names, names.items_at, strict=True):
                yield from _reference("functions", name, mark)
    yield from _named(root.get("database"), "table", "tables")
    runs_on = root.get("runsOn")
    if isinstance(runs_on, Map):
        yield from _named(runs_on.get("database"), "table", "tables")
        yield from _named(runs_on, "realtime", "realtime")


def _of_steps(steps: Any) -> Iterator[Reference]:
    for step in steps if isinstance(steps, Seq) else ():
        if not isinstance(step, Map):
            continue
        for action, (key, kind) in _OF_STEPS.items():
            yield from _named(step.get(action), key, kind)
        for block in _BLOCKS:
            yield from _of_steps(step.get(block))
        for holder in ("loop", "cache"):
            inner = step.get(holder)
            yield from _of_steps(inner.get("steps") if isinstance(inner, Map) else None)
        branches = step.get("parallel")
        for branch in branches.values() if isinstance(branches, Map) else ():
            yield from _of_steps(branch)


def _of_columns(columns: Any) -> Iterator[Reference]:
    for column in columns.values() if isinstance(columns, Map) else ():
        target = column.get("references") if isinstance(column, Map) else None
        if isinstance(target, str):
            table, dot, name = target.partition(".")
            mark = column.values_at["references"]
            yield Reference(Name("tables", table), mark, f"{dot}{name}")


def _of_test(root: Map) -> Iterator[Reference]:
    yield from _keys(root.get("data"))
    cases = root.get("cases")
    for case in cases if isinstance(cases, Seq) else ():
        expect = case.get("expect") if isinstance(case, Map) else None
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
