"""The values of a test's file, made-up payloads, and differences from the results."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from types import CodeType
from typing import Any, Final

import bcrypt
import msgspec

from bbops.base.host import Host
from bbops.compiler.check.cases import plain_hash
from bbops.language.expressions.check import check_value
from bbops.language.expressions.emit import Emitter, load
from bbops.language.expressions.nodes import Filter, Node
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.types import ANY
from bbops.language.expressions.values import Value
from bbops.language.project import Project
from bbops.language.shape import shape_spec
from bbops.language.sql.types import SqlTable
from bbops.language.steps._flow import Flow
from bbops.runtime.data.rows import DECODERS, ENCODERS
from bbops.runtime.linking.functions import resolve
from bbops.runtime.values.failures import FlowError
from bbops.runtime.values.shapes import compile_shape

_ROUNDS = 4
"""The fewest that bcrypt knows: a test's passwords are nobody's."""


def compute(value: Value, host: Host, names: Mapping[str, Any] | None = None) -> Any:
    """Return what a value of a test's file stands for. It has been checked before.

    Args:
        names: what it may read, such as `result`.

    Raises:
        FlowError: it cannot be computed, for example `1 + null`.
    """
    given = names or {}
    checked = plain_hash(value)
    scope = Scope(dict.fromkeys(given, ANY), _ignore)
    check_value(checked, scope)
    flow = Flow("", scope, {}, variables=(), exports=False)
    hashed = {id(new) for old, new in _side_by_side(value, checked) if _is_hash(old)}
    flow.emitter = Emitter(scope, flow, _override(flow, hashed))
    code = flow.value(checked)
    space: dict[str, Any] = {"__builtins__": {}, "hash_": _hash}
    space |= {name: resolve(target) for name, target in flow.uses.items()}
    space |= {f"r_{name}": {"host": host, **given}.get(name) for name in flow.roots}
    space["now_"] = host.clock.now() if flow.uses_now else None
    return eval(_compiled(code), space)  # noqa: S307 - code of our own emitter, without builtins


def _compiled(code: ast.expr) -> CodeType:
    return compile(ast.fix_missing_locations(ast.Expression(code)), "a test", "eval")


def _ignore(*_mistake: object) -> None:
    """What is wrong was told when the project was checked."""


def _hash(password: Any) -> str:
    return bcrypt.hashpw(str(password).encode(), bcrypt.gensalt(_ROUNDS)).decode()


def _override(flow: Flow, hashed: set[int]) -> Any:
    def override(node: Node) -> ast.expr | None:
        if id(node) not in hashed or not isinstance(node, Filter):
            return None
        return ast.Call(load("hash_"), [flow.emitter.node(node.of)], [])

    return override


def _is_hash(node: object) -> bool:
    return isinstance(node, Filter) and node.name == "bcrypt"


def _side_by_side(old: Any, new: Any) -> Iterator[tuple[object, object]]:
    """Yield the parts of a value, each with what `plain_hash` made of it."""
    yield old, new
    if isinstance(old, tuple):
        for one, other in zip(old, new, strict=True):
            yield from _side_by_side(one, other)
    elif is_dataclass(old) and not isinstance(old, type):
        for one in fields(old):
            yield from _side_by_side(getattr(old, one.name), getattr(new, one.name))


# ---- Say in what a value differs from what a test expects of it

_LONGEST = 200
_DECIMAL: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_QUOTE: Final = " (text, as decimals are in an answer: quote the number that is expected)"

Mask = Callable[[str, Any], Any]


def _as_it_is(_name: str, value: Any) -> Any:
    return value


def plain(value: Any) -> Any:
    """Return a value as JSON gives it back: a datetime as text."""
    return msgspec.json.decode(msgspec.json.encode(value))


def differences(
    expected: Any, found: Any, path: str = "", mask: Mask = _as_it_is
) -> Iterator[tuple[str, str]]:
    """Yield (path, what is wrong); nothing when `found` holds at least what is expected.

    A map may have more keys; a list has the same length. Both are of JSON's types.

    Args:
        mask: takes a field's name and value, and hides it where it is a secret.
    """
    if isinstance(expected, dict) and isinstance(found, dict):
        for key, inner in expected.items():
            way = f"{path}.{key}" if path else key
            if key not in found:
                yield way, f"expected {shown(mask(key, inner))}, found no such key"
            else:
                yield from differences(inner, found[key], way, mask)
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for at, (inner, other) in enumerate(zip(expected, found, strict=True)):
            yield from differences(inner, other, f"{path}[{at}]", mask)
    elif isinstance(expected, list) and isinstance(found, list):
        name = _last(path)
        told = f"found {len(found)}: {shown(mask(name, found))}"
        yield path, f"expected {len(expected)} members, {told}"
    elif not _same(expected, found):
        name = _last(path)
        wanted, given = shown(mask(name, expected)), shown(mask(name, found))
        cure = _QUOTE if _is_that_decimal(expected, found) else ""
        yield path, f"expected {wanted}, found {given}{cure}"


def shown(value: Any) -> str:
    """Return a value as JSON, cut where it is long."""
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _last(path: str) -> str:
    return path.rpartition(".")[2].partition("[")[0]


def _is_that_decimal(expected: Any, found: Any) -> bool:
    is_number = type(expected) in {int, float}
    return is_number and isinstance(found, str) and _DECIMAL.fullmatch(found) is not None


def _same(expected: Any, found: Any) -> bool:
    if isinstance(expected, bool) or isinstance(found, bool):
        return expected is found
    return bool(expected == found)


# ---- What an event or a changed row hands to a function, of the types that the real ones have


def typed_event(project: Project, function: str, event: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event whose payload is what the function's `payload` makes of it.

    Raises:
        FlowError: it does not fit.
    """
    shape, errors = project.functions[function].model.payload, dict[str, list[str]]()
    if shape is None:
        return dict(event)
    payload = compile_shape(shape_spec(shape))(event.get("payload") or {}, "", errors)
    if errors:
        wrong = "; ".join(f"'{path}' {texts[0]}" for path, texts in errors.items())
        raise FlowError(f"the payload does not fit function '{function}': {wrong}")
    return {**event, "payload": payload}


def typed_rows(project: Project, function: str, rows: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rows of a trigger as the database gives them; columns left out are null.

    Raises:
        FlowError: a value does not fit its column.
    """
    tables = list(_tables(project, function))
    return {name: row and _typed(_table_of(tables, row), row) for name, row in rows.items()}


def _tables(project: Project, function: str) -> Iterator[SqlTable]:
    for trigger in project.triggers.values():
        rows = trigger.model.database
        if trigger.model.function == function and rows and rows.table in project.stored_tables:
            yield project.stored_tables[rows.table]


def _table_of(tables: list[SqlTable], row: Mapping[str, Any]) -> SqlTable | None:
    """Return the table that the row can be of; a function may serve several triggers."""
    return next((table for table in tables if row.keys() <= table.columns.keys()), None)


def _typed(table: SqlTable | None, row: Mapping[str, Any]) -> dict[str, Any]:
    if table is None:
        return dict(row)
    found: dict[str, Any] = {}
    for name, column in table.columns.items():
        stored = ENCODERS[column.type](row.get(name), name)
        found[name] = DECODERS[column.type](stored) if column.type in DECODERS else stored
    return found
