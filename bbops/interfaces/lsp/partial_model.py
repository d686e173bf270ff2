"""Build a model from an unfinished file: parts with errors are left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import ValidationError

from bbops.base.model import Model
from bbops.interfaces.lsp.schema import Path, node_at, schema_at

M = TypeVar("M", bound=Model)
_ATTEMPTS = 25
_ANYTHING = "${ '1' | parseJson }"
_BLOCKS = frozenset({"steps", "then", "else", "try", "catch", "finally", "transaction"})
_NAMED = frozenset({"parallel", "cases"})
"""Keys of maps whose values are lists of steps."""


def build_model(model: type[M], root: Any, kept: Path) -> M | None:
    """Return the model of a file; parts of `root` with errors are removed from it.

    Args:
        kept: a path that must not be removed.
    """
    for _ in range(_ATTEMPTS):
        try:
            return model.model_validate(root)
        except ValidationError as error:
            item = error.errors(include_url=False, include_context=False, include_input=False)[0]
            if not _remove_error(model, root, item["type"], item["loc"], kept):
                return None
    return None


def _remove_error(model: type[Model], root: Any, kind: str, loc: Sequence[Any], kept: Path) -> bool:
    path = _existing(root, loc)
    if kind == "missing":
        parent, key = node_at(root, path), str(loc[-1])
        if isinstance(parent, dict):
            parent[key] = _filler(model, root, (*path, key))
            return True
    if kind == "empty":
        return _fill_empty(model, root, path, kept)
    if kind == "try":
        node_at(root, path)["catch"] = [_replacement(None)]
        return True
    step = _step_around(path)
    if step and step != kept[: len(step)]:
        _replace(root, step, _replacement(node_at(root, step)))
        return True
    if not path or path == kept[: len(path)]:
        return False
    _remove(root, path)
    return True


def _fill_empty(model: type[Model], root: Any, path: Path, kept: Path) -> bool:
    """Remove keys without a value; give the key around the kept path a value."""
    parent = node_at(root, path)
    empty = [key for key, value in parent.items()
             if value is None and not schema_at(model, root, (*path, key)).is_value]  # fmt: skip
    for key in empty:
        del parent[key]
        if kept[: len(path) + 1] == (*path, key):
            parent[key] = _filler(model, root, (*path, key))
    return bool(empty)


def _existing(root: Any, loc: Sequence[Any]) -> Path:
    node, path = root, []
    for part in loc:
        is_index = isinstance(node, list) and isinstance(part, int) and part < len(node)
        if is_index or (isinstance(node, dict) and part in node):
            path.append(part)
            node = node[part]
    return tuple(path)


def _filler(model: type[Model], root: Any, path: Path) -> Any:
    schema = schema_at(model, root, path)
    if schema.is_bare:
        return True
    if schema.is_value:
        return None
    if path[-1] in _BLOCKS:
        return [_replacement(None)]
    return next(iter(schema.options), {} if schema.model else "x")


def _replacement(step: Any) -> dict[str, Any]:
    """Return a step that sets the same variable as a step."""
    name = step.get("as") if isinstance(step, dict) else None
    if isinstance(name, str) and name.isidentifier():
        return {"set": {name: _ANYTHING}}
    return {"log": {"message": "x"}}


def _step_around(path: Path) -> Path:
    """Return the path of the innermost step around a path; empty outside steps."""
    for size in range(len(path), 1, -1):
        is_block = path[size - 2] in _BLOCKS or path[size - 3] in _NAMED
        if isinstance(path[size - 1], int) and is_block:
            return path[:size]
    return ()


def _replace(root: Any, path: Path, value: Any) -> None:
    node_at(root, path[:-1])[path[-1]] = value


def _remove(root: Any, path: Path) -> None:
    parent, last = node_at(root, path[:-1]), path[-1]
    if isinstance(parent, list) and isinstance(last, int):
        del parent[last]
    elif isinstance(parent, dict):
        parent.pop(last)
