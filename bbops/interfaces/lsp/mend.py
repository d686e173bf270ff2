"""Make a model of a file that is not finished: what is wrong in it is left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import ValidationError

from bbops.base.model import Model
from bbops.interfaces.lsp.slots import Path, node_at, slot_at

M = TypeVar("M", bound=Model)
_TRIES = 25
_ANYTHING = "${ '1' | parseJson }"
_BLOCKS = frozenset({"steps", "then", "else", "try", "catch", "finally", "transaction"})
_NAMED = frozenset({"parallel", "cases"})
"""Keys of maps of lists of steps."""


def mend(model: type[M], root: Any, here: Path) -> M | None:
    """Return the model of a file whose mistakes are left out of `root`, which is changed.

    Args:
        here: the place that must be kept.
    """
    for _ in range(_TRIES):
        try:
            return model.model_validate(root)
        except ValidationError as error:
            item = error.errors(include_url=False, include_context=False, include_input=False)[0]
            if not _mend_one(model, root, item["type"], item["loc"], here):
                return None
    return None


def _mend_one(model: type[Model], root: Any, kind: str, loc: Sequence[Any], here: Path) -> bool:
    path = _existing(root, loc)
    if kind == "missing":
        around, key = node_at(root, path), str(loc[-1])
        if isinstance(around, dict):
            around[key] = _filler(model, root, (*path, key))
            return True
    if kind == "empty":
        return _fill_empty(model, root, path, here)
    if kind == "try":
        node_at(root, path)["catch"] = [_stand_in(None)]
        return True
    step = _step_around(path)
    if step and step != here[: len(step)]:
        _replace(root, step, _stand_in(node_at(root, step)))
        return True
    if not path or path == here[: len(path)]:
        return False
    _remove(root, path)
    return True


def _fill_empty(model: type[Model], root: Any, path: Path, here: Path) -> bool:
    """Leave out keys with nothing behind them; where the place is in one, give it something."""
    around = node_at(root, path)
    empty = [key for key, value in around.items()
             if value is None and not slot_at(model, root, (*path, key)).is_value]  # fmt: skip
    for key in empty:
        del around[key]
        if here[: len(path) + 1] == (*path, key):
            around[key] = _filler(model, root, (*path, key))
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
    slot = slot_at(model, root, path)
    if slot.is_bare:
        return True
    if slot.is_value:
        return None
    if path[-1] in _BLOCKS:
        return [_stand_in(None)]
    return next(iter(slot.options), {} if slot.model else "x")


def _stand_in(step: Any) -> dict[str, Any]:
    """Return a step that sets what a step would have set, to something."""
    name = step.get("as") if isinstance(step, dict) else None
    if isinstance(name, str) and name.isidentifier():
        return {"set": {name: _ANYTHING}}
    return {"log": {"message": "x"}}


def _step_around(path: Path) -> Path:
    """Return the path of the innermost step around a place; empty outside steps."""
    for size in range(len(path), 1, -1):
        is_block = path[size - 2] in _BLOCKS or path[size - 3] in _NAMED
        if isinstance(path[size - 1], int) and is_block:
            return path[:size]
    return ()


def _replace(root: Any, path: Path, value: Any) -> None:
    node_at(root, path[:-1])[path[-1]] = value


def _remove(root: Any, path: Path) -> None:
    around, last = node_at(root, path[:-1]), path[-1]
    if isinstance(around, list) and isinstance(last, int):
        del around[last]
    elif isinstance(around, dict):
        around.pop(last)
