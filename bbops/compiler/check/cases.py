"""Tests: what they name exists, rows fit their tables, expectations are expressions."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from bbops.base.diagnostics import Diagnostic, suggest
from bbops.compiler.check._checked import CheckedProject
from bbops.compiler.check._outside import Outside
from bbops.language.addons._base import step_keys
from bbops.language.addons._own import OwnAddonStep
from bbops.language.expressions.nodes import Filter, Node
from bbops.language.expressions.scope import SIGNED_IN
from bbops.language.expressions.types import (
    ANSWER,
    ANY,
    INTEGER,
    TEXT,
    Type,
    fits,
    map_of,
    may_be_null,
)
from bbops.language.expressions.values import (
    Constant,
    Expression,
    ListValue,
    MapValue,
    Template,
    Value,
)
from bbops.language.project import Resource, Route, function_of
from bbops.language.resources.test import Case, Row, Test
from bbops.language.sql.types import SqlColumn, SqlTable
from bbops.language.steps._base import find_step_kind, step_kinds, variables

_RESULT = {
    "result": ANY, "status": INTEGER, "headers": map_of({}, "headers", rest=TEXT.or_null()),
}  # fmt: skip
_KEY_PARTS = {"id": "text", "name": "text", "claims": "map"}
_MISSING = dict.fromkeys(
    ("vars", "input", "query", "params", "env"), "a check sees 'result', 'status' and 'headers'"
)


def check(project: CheckedProject) -> Iterator[Diagnostic]:
    """Yield the mistakes of every test."""
    for test in project.tests.values():
        yield from _data(project, test)
        yield from _mocks(project, test, test.model.mocks, "mocks")
        yield from _without_middleware(project, test)
        seen: set[str] = set()
        for at, case in enumerate(test.model.cases):
            if case.name in seen:
                place = test.place("cases", at, "name")
                yield Diagnostic(place, "duplicate-name", f"another case is named '{case.name}'")
            seen.add(case.name)
            yield from _case(project, test, case, at)


# ---- rows
def _data(project: CheckedProject, test: Resource[Test]) -> Iterator[Diagnostic]:
    outside = Outside(test, {})
    for name, rows in test.model.data.items():
        table = project.stored_tables.get(name)
        if table is None:
            yield from _unknown_table(project, test, name, "data", name)
            continue
        for at, row in enumerate(rows):
            yield from _row(outside, test, table, row, at)
    yield from outside.found


def _unknown_table(
    project: CheckedProject, test: Resource[Test], name: str, *path: str | int
) -> Iterator[Diagnostic]:
    if ("tables", name) not in project.broken:
        yield Diagnostic(
            test.place(*path, key=True), "unknown-table", f"table '{name}' does not exist",
            suggest(name, project.tables),
        )  # fmt: skip


def _row(
    outside: Outside, test: Resource[Test], table: SqlTable, row: Row, at: int
) -> Iterator[Diagnostic]:
    path = ("data", table.name, at)
    for name, value in row.items():
        column = table.columns.get(name)
        if column is None:
            yield Diagnostic(
                test.place(*path, name, key=True), "unknown-column",
                f"table '{table.name}' has no column '{name}'", suggest(name, table.columns),
            )  # fmt: skip
            continue
        found = outside.value(plain_hash(value), *path, name)
        if not _fits(column, found, value):
            message = f"column '{name}' needs {column.value_type}, got {found}"
            yield Diagnostic(test.place(*path, name), "type", message)
        elif isinstance(value, Constant) and value.value is not None:
            yield from _option(test, column, value.value, *path, name)
    for name, column in table.columns.items():
        if column.is_required and name not in row and row.keys() <= table.columns.keys():
            message = f"a row of '{table.name}' needs a value for '{name}'"
            yield Diagnostic(test.place(*path), "missing-column", message)


def _option(
    test: Resource[Test], column: SqlColumn, value: object, *path: str | int
) -> Iterator[Diagnostic]:
    if column.enum and value not in column.enum:
        options = [str(one) for one in column.enum]
        message = f"column '{column.name}' is one of {', '.join(options)}, never '{value}'"
        hint = suggest(str(value), options)
        yield Diagnostic(test.place(*path), "unknown-option", message, hint)


def _fits(column: SqlColumn, found: Type, value: Value) -> bool:
    wanted = column.value_type
    if isinstance(value, Constant) and found.kind == "text":  # dates and the like are texts here
        return wanted.kind not in {"integer", "number", "boolean"}
    if may_be_null(found) and not column.nullable:
        return False
    # a decimal column stores a number of YAML too, digit by digit
    return fits(found, wanted.kind) or (wanted.kind == "decimal" and fits(found, "number"))


def plain_hash(value: Value) -> Value:
    """Return a value whose filter `bcrypt`, which only tests have, is one that all have."""
    match value:
        case Expression():
            return replace(value, node=_without_bcrypt(value.node))
        case Template():
            parts = tuple(
                _without_bcrypt(one) if isinstance(one, Node) else one for one in value.parts
            )
            return replace(value, parts=parts)
        case MapValue():
            return replace(value, items=tuple((key, plain_hash(one)) for key, one in value.items))
        case ListValue():
            return replace(value, items=tuple(map(plain_hash, value.items)))
        case _:
            return value


def _without_bcrypt(node: Any) -> Any:
    if isinstance(node, tuple):
        return tuple(map(_without_bcrypt, node))
    if not is_dataclass(node) or isinstance(node, type):
        return node
    found = {one.name: _without_bcrypt(getattr(node, one.name)) for one in fields(node)}
    if isinstance(node, Filter) and node.name == "bcrypt":
        found["name"] = "sha256"  # also a text from a text
    return replace(node, **found)


# ---- mocks
def _mocks(
    project: CheckedProject, test: Resource[Test], mocks: dict[str, Value], *path: str | int
) -> Iterator[Diagnostic]:
    for name in mocks:
        if name.startswith(("http://", "https://")) or _is_step(project, name):
            continue
        yield Diagnostic(
            test.place(*path, name, key=True), "unknown-step",
            f"a mock replaces a step or a URL, and '{name}' is neither",
            suggest(name, [*_step_names(name), *project.own_actions])
            or "for example 'email.sendEmail', or https://…",
        )  # fmt: skip


def _is_step(project: CheckedProject, name: str) -> bool:
    kind = find_step_kind(name)
    if kind is None or not issubclass(kind, OwnAddonStep):
        return kind is not None
    addon, _, step = name.partition(".")
    is_broken = {("addons", addon), ("addons", f"{addon}/{step}")} & project.broken
    return name in project.own_actions or bool(is_broken)


def _step_names(name: str) -> list[str]:
    return [*step_kinds(), *step_keys(name.partition(".")[0])]


def _without_middleware(project: CheckedProject, test: Resource[Test]) -> Iterator[Diagnostic]:
    """A test of a function runs no middleware, so what that sets would be null."""
    name = test.model.function
    if name is None or name not in project.functions:
        return
    checked = project.flows.of(name)
    own = set(variables(project.functions[name].model.steps)) | SIGNED_IN.keys()
    lacking = [f"'vars.{one}'" for one in sorted(checked.inherits & checked.scope.reads - own)]
    if lacking:
        yield Diagnostic(
            test.place("function"), "test-case",
            f"function '{name}' reads {', '.join(lacking)}, which is set only by middleware",
            "test its endpoint instead, which runs middleware: 'endpoint: …'", severity="warning",
        )  # fmt: skip


# ---- cases
def _files(
    project: CheckedProject, test: Resource[Test], case: Case, path: tuple[str | int, ...]
) -> Iterator[Diagnostic]:
    endpoint = project.endpoints.get(test.model.endpoint or "")
    if endpoint is None and test.model.endpoint is not None:
        return
    known = [one.rstrip("?") for one in endpoint.model.files] if endpoint else []
    for name, file in case.files.items():
        if name not in known:
            where = endpoint.file if endpoint else "a function"
            yield Diagnostic(
                test.place(*path, "files", name, key=True), "test-case",
                f"{where} takes no file '{name}'", suggest(name, known),
            )  # fmt: skip
        if file.base64 is not None and not _is_base64(file.base64):
            place = test.place(*path, "files", name, "base64")
            yield Diagnostic(place, "bad-value", "expected base64, such as 'aGVsbG8='")


def _is_base64(text: str) -> bool:
    try:
        return bool(b64decode(text, validate=True)) or not text
    except ValueError:
        return False


def _case(
    project: CheckedProject, test: Resource[Test], case: Case, at: int
) -> Iterator[Diagnostic]:  # fmt: skip
    path = ("cases", at)
    yield from _mocks(project, test, case.mocks, *path, "mocks")
    yield from _keys(project, test, case, path)
    yield from _files(project, test, case, path)
    outside = Outside(test, {})
    given = [(name, getattr(case, name)) for name in ("params", "query", "headers", "mocks")]
    for part, values in [*given, ("mocks", test.model.mocks)]:
        for value in values.values():
            outside.value(plain_hash(value), *path, part)
    outside.value(case.input, *path, "input")
    for part in ("user_id", "email", "role", "claims") if case.auth else ():
        outside.value(getattr(case.auth, part), *path, "auth")
    for part, wanted in _KEY_PARTS.items() if case.api_key else ():
        value = getattr(case.api_key, part)
        found = outside.value(value, *path, "apiKey", part)
        if value is not None and not fits(found, wanted):
            message = f"'apiKey.{part}' needs a {wanted}, got {found}"
            yield Diagnostic(test.place(*path, "apiKey", part), "type", message)
    if case.event is not None:
        outside.value(case.event.payload, *path, "event", "payload")
    for value in (case.trigger.new_row, case.trigger.old_row) if case.trigger else ():
        outside.value(value, *path, "trigger")
    outside.value(case.expect.value, *path, "expect", "value")
    for number, job in enumerate(case.expect.jobs or ()):
        outside.value(job.input, *path, "expect", "jobs", number, "input")
    for number, one in enumerate(case.expect.sent or ()):
        outside.value(one.owner, *path, "expect", "sent", number, "owner")
        outside.value(one.payload, *path, "expect", "sent", number, "payload")
    yield from outside.found
    yield from _expect(project, test, case, path)


def _keys(
    project: CheckedProject, test: Resource[Test], case: Case, path: tuple[str | int, ...]
) -> Iterator[Diagnostic]:
    """A request has no event, and a path has just its own parameters."""
    if case.api_key is not None and test.model.endpoint is None and test.model.function is None:
        yield Diagnostic(
            test.place(*path, "apiKey", key=True), "test-case",
            "'apiKey' is for tests of endpoints and functions; a trigger or task has no caller",
            "remove it",
        )  # fmt: skip
    if test.model.endpoint is None:
        return
    for key in ("event", "trigger"):
        if getattr(case, key) is not None:
            yield Diagnostic(
                test.place(*path, key, key=True), "test-case",
                f"'{key}' is for tests of functions; an endpoint receives a request",
            )  # fmt: skip
    route = next((one for one in project.routes if one.endpoint.name == test.model.endpoint), None)
    if route is not None:
        yield from _parameters(test, case, path, route)
        yield from _api_key(test, case, path, route)


def _api_key(
    test: Resource[Test], case: Case, path: tuple[str | int, ...], route: Route
) -> Iterator[Diagnostic]:
    """Yield a key for an endpoint that reads none."""
    if case.api_key is None or route.authentication == "API Key":
        return
    hint = "remove it"
    if route.channel is not None:
        hint = f"remove it, or write 'authentication: API Key' in {route.channel.file}"
    yield Diagnostic(
        test.place(*path, "apiKey", key=True), "test-case",
        f"endpoint '{route.endpoint.name}' takes no API key: its authentication is"
        f" {route.authentication}", hint,
    )  # fmt: skip


def _parameters(
    test: Resource[Test], case: Case, path: tuple[str | int, ...], route: Route
) -> Iterator[Diagnostic]:
    for name in case.params:
        if name not in route.parameters:
            yield Diagnostic(
                test.place(*path, "params", name, key=True), "test-case",
                f"the path {route.path} has no ':{name}'", suggest(name, route.parameters),
            )  # fmt: skip
    lacking = [f"'{name}'" for name in route.parameters if name not in case.params]
    if lacking and case.params.keys() <= set(route.parameters):
        message = f"the path {route.path} needs {', '.join(lacking)} under 'params'"
        yield Diagnostic(test.place(*path), "test-case", message)


def _expect(
    project: CheckedProject, test: Resource[Test], case: Case, path: tuple[str | int, ...]
) -> Iterator[Diagnostic]:
    seen = _RESULT | {"result": _result(project, test, case)}
    outside = Outside(test, seen, missing=_MISSING)
    for at, bare in enumerate(case.expect.check):
        outside.condition(bare, *path, "expect", "check", at)
    yield from outside.found
    for name in case.expect.rows:
        if name not in project.tables:
            yield from _unknown_table(project, test, name, *path, "expect", "rows", name)
    mocked = {*test.model.mocks, *case.mocks}
    for name, calls in case.expect.calls.items():
        yield from _calls(project, test, name, calls, *path, "expect", "calls", name)
        if name not in mocked:
            yield Diagnostic(
                test.place(*path, "expect", "calls", name, key=True), "test-case",
                f"'{name}' is not mocked, so its calls cannot be checked",
                suggest(name, mocked) or f"add it under 'mocks', for example '{name}: {{}}'",
            )  # fmt: skip


def _calls(
    project: CheckedProject, test: Resource[Test], name: str, calls: list[Value], *path: str | int
) -> Iterator[Diagnostic]:
    """Yield the parameters that an addon's step does not have."""
    action = getattr(find_step_kind(name), "action", None)
    known = [one.name for one in action.parameters] if action else []
    if name in project.own_actions:
        known = [*project.own_actions[name].parameters]
    for at, call in enumerate(calls):
        for key, _ in call.items if isinstance(call, MapValue) and known else ():
            if key not in known:
                yield Diagnostic(
                    test.place(*path, at, key, key=True), "test-case",
                    f"'{name}' has no parameter '{key}'", suggest(key, known),
                )  # fmt: skip


def _result(project: CheckedProject, test: Resource[Test], case: Case) -> Type:
    """Return the type of what a case that succeeds gives; which of it is null, the case knows."""
    endpoint = project.endpoints.get(test.model.endpoint or "")
    name = function_of(endpoint) if endpoint else test.model.function
    if (
        name is None
        or name not in project.functions
        or not 200 <= (case.expect.status or 200) < 300
    ):
        return ANY
    return _without_null(project.flows.of(name).gives)


def _without_null(of: Type) -> Type:
    if of.kind == "null":
        return ANY
    item = _without_null(of.item) if of.item else None
    inner = {name: _without_null(one) for name, one in of.fields.items()} if of.fields else None
    what = ANSWER if of.kind == "map" else of.what
    return replace(of.not_null(), item=item, fields=inner, what=what)
