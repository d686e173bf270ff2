"""Find requests that were valid before and are now rejected, or lose data.

`integer` in place of `number` refuses requests of clients; `string` in place of `email` does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from bbops.base.diagnostics import Place
from bbops.compiler.check import CheckedProject
from bbops.language.expressions.values import Constant
from bbops.language.json_schema import Schema
from bbops.language.project import Project, Resource, Route
from bbops.language.resources.endpoint import Upload
from bbops.language.resources.function import Function
from bbops.language.shape import Field
from bbops.language.steps.return_ import Return
from bbops.review.contract.outputs import Output, outputs
from bbops.review.contract.requests import PARTS, declared_fields, declaring, is_strict
from bbops.review.plan.changes import title
from bbops.review.plan.codes import Finding, finding
from bbops.runtime.values.shapes import EQUAL

_TEXTS = frozenset({"string", "text", "email", "url", "uuid", "date", "datetime"})
_WIDER = {("number", "integer"), ("decimal", "integer"), ("decimal", "number")}
_LOWER = ("min_length", "minimum")
_UPPER = ("max_length", "maximum")
_LENGTHS = ("min_length", "max_length")
_WORDS = {"min_length": "minLength", "max_length": "maxLength"}


@dataclass(frozen=True, slots=True)
class RequestBreak:
    """A break of one field: its code, the field's path, and its description."""

    code: str
    path: str
    message: str


def find_request_breaks(
    base: Project, old: Route, head: Project, new: Route
) -> Iterator[Finding]:  # fmt: skip
    """Yield the requests that a route no longer accepts, by its function and its middleware."""
    yield from _strict_breaks(base, old, head, new)
    for part in PARTS:
        before, after = declared_fields(base, old, part), declared_fields(head, new, part)
        if part == "query":
            before = _with_equal(before, after)
        where = _declares(head, new, part)
        for said in shape_breaks(before, after, part):
            if part == "params" and said.code in {"input-removed", "input-required"}:
                continue  # the path gives them, declared or not; another path is reported anyway
            yield finding(said.code, title(new), said.message, _place(where, part, said.path))
    for said in _upload_breaks(old.endpoint.model.files, new.endpoint.model.files):
        yield finding(said.code, title(new), said.message, new.endpoint.place("files", said.path))
    yield from _size_breaks(old, new)


def _strict_breaks(base: Project, old: Route, head: Project, new: Route) -> Iterator[Finding]:
    """Yield undeclared names of the query that are now refused instead of dropped."""
    if is_strict(base, old) or not is_strict(head, new):
        return
    every = declaring(head, new)
    says = next(function for function in every if function.model.strict_query)
    message = "refuses names of the query that are not declared; it dropped them"
    yield finding("query-strict", title(new), message, says.place("strictQuery"))


def _with_equal(old: Mapping[str, Field], new: Mapping[str, Field]) -> dict[str, Field]:
    """Return the fields of a query; a field that has become the `eq` of a map is written so."""
    takes = {name.rstrip("?"): field for name, field in new.items()}
    found = {}
    for name, field in old.items():
        fields = getattr(takes.get(name.rstrip("?")), "fields", None) or {}
        is_equal = field.fields is None and {EQUAL, f"{EQUAL}?"} & fields.keys()
        found[name] = Field(fields={EQUAL: field}) if is_equal else field
    return found


def shape_breaks(
    old: Mapping[str, Field], new: Mapping[str, Field], path: str
) -> Iterator[RequestBreak]:
    """Yield the breaks of a shape for its senders; names end with `?` as they are written."""
    before = {name.rstrip("?"): (name, field) for name, field in old.items()}
    after = {name.rstrip("?"): (name, field) for name, field in new.items()}
    for name in before:
        if name not in after:
            yield RequestBreak("input-removed", name, f"'{path}.{name}' is dropped now")
    for name, (written, field) in after.items():
        was = before.get(name)
        if _is_required(written, field) and (was is None or not _is_required(*was)):
            yield RequestBreak("input-required", name, f"'{path}.{name}' must be given now")
        if was is not None:
            yield from _field_breaks(was[1], field, name, f"{path}.{name}")


def _is_required(written: str, field: Field) -> bool:
    return not written.endswith("?") and field.default is None


def _field_breaks(old: Field, new: Field, name: str, path: str) -> Iterator[RequestBreak]:
    (base, _, null), (now, _, takes_null) = old.parts, new.parts
    item, new_item = _item(old), _item(new)
    is_one_list = item is not None and new_item is not None
    takes_any = now == "json" and new_item is None
    if not (is_one_list or takes_any or (item is new_item is None and _takes(now, base))):
        yield RequestBreak(
            "input-type", name, f"'{path}' was {words(old)}, and is {words(new)} now"
        )
        return
    if null and not takes_null:
        yield RequestBreak("input-null", name, f"'{path}' can no longer be null")
    yield from _limit_breaks(old, new, name, path)
    if item is not None and new_item is not None:
        yield from _field_breaks(item, new_item, name, f"{path}[]")
        return
    yield from _enum_breaks(old, new, name, path)
    if old.fields is not None and new.fields is not None:
        for said in shape_breaks(old.fields, new.fields, path):
            yield RequestBreak(said.code, name, said.message)


def _item(field: Field) -> Field | None:
    """Return the field of a list's members; None for other fields."""
    base, many, _ = field.parts
    if not many:
        return field.items if base == "list" else None
    return field.model_copy(update={"type": base, "min_length": None, "max_length": None})


def _takes(new: str, old: str) -> bool:
    """Return whether every value of one type is valid for another."""
    if new in {old, "json"} or (new, old) in _WIDER:
        return True
    return new in {"string", "text"} and old in _TEXTS


def _enum_breaks(old: Field, new: Field, name: str, path: str) -> Iterator[RequestBreak]:
    if new.enum is None:
        return
    if old.enum is None:
        yield RequestBreak("input-enum", name, f"'{path}' takes only some values now")
    elif gone := [f"'{value}'" for value in old.enum if value not in new.enum]:
        yield RequestBreak("input-enum", name, f"'{path}' does not take {', '.join(gone)} any more")


def _limit_breaks(old: Field, new: Field, name: str, path: str) -> Iterator[RequestBreak]:
    is_list = _item(new) is not None
    for limit in _LENGTHS if is_list else (*_LOWER, *_UPPER):
        was, now = getattr(old, limit), getattr(new, limit)
        is_tighter = now is not None and (
            was is None or (now > was if limit in _LOWER else now < was)
        )
        if is_tighter:
            message = f"'{path}' has {_WORDS.get(limit, limit)} {now}, it had {_none(was)}"
            yield RequestBreak("input-limit", name, message)
    if not is_list and new.pattern is not None and new.pattern != old.pattern:
        yield RequestBreak("input-limit", name, f"'{path}' has another pattern")


def _none(value: object) -> str:
    return "none" if value is None else str(value)


def words(field: Field) -> str:
    """Return the short form of a field's type; `list` and `object` if it has none."""
    base, many, null = field.parts
    return f"{base}{'[]' if many else ''}{'?' if null else ''}"


# ---- uploads
def _upload_breaks(old: Mapping[str, Upload], new: Mapping[str, Upload]) -> Iterator[RequestBreak]:
    before = {name.rstrip("?"): (name, upload) for name, upload in old.items()}
    after = {name.rstrip("?"): (name, upload) for name, upload in new.items()}
    for name in before.keys() - after.keys():
        yield RequestBreak("input-removed", name, f"the file '{name}' is dropped now")
    for name, (written, upload) in after.items():
        was = before.get(name)
        if not written.endswith("?") and (was is None or was[0].endswith("?")):
            yield RequestBreak("input-required", written, f"the file '{name}' must be given now")
        if was is not None:
            yield from _file_breaks(was[1], upload, name, written)


def _file_breaks(old: Upload, new: Upload, name: str, written: str) -> Iterator[RequestBreak]:
    if _bytes(new.max_size) < _bytes(old.max_size):
        message = f"the file '{name}' has at most {new.max_size}, it had {old.max_size}"
        yield RequestBreak("input-limit", written, message)
    if new.types and not set(old.types or ["*/*"]) <= {*new.types}:
        yield RequestBreak("input-limit", written, f"the file '{name}' may be of fewer types")
    if old.many and not new.many:
        yield RequestBreak("input-type", written, f"'{name}' takes one file, it took many")


def _size_breaks(old: Route, new: Route) -> Iterator[Finding]:
    was, now = old.endpoint.model.max_body, new.endpoint.model.max_body
    if was and now and _bytes(now) < _bytes(was):
        message = f"a body has at most {now}, it had {was}"
        yield finding("input-limit", title(new), message, new.endpoint.place("maxBody"))


def _bytes(size: str) -> int:
    number = size.rstrip("BGKM")
    return int(number) << {"B": 0, "KB": 10, "MB": 20, "GB": 30}[size.removeprefix(number)]


# ---- places of shapes
def _declares(project: Project, route: Route, part: str) -> list[Resource[Function]]:
    every = declaring(project, route)
    return [function for function in every if getattr(function.model, part)] or every[:1]


# ---- Find changed answers that clients rely on, as far as they are known before run time


def _place(functions: list[Resource[Function]], part: str, name: str) -> Place:
    for function in functions:
        for written in getattr(function.model, part) or {}:
            if written.rstrip("?") == name:
                return function.place(part, written, key=True)
    return functions[0].place(part, key=True)


class AnswerBreak(NamedTuple):
    """A break of one field of an answer: its code, and its description."""

    code: str
    message: str


def find_answer_breaks(
    base: CheckedProject, old: Route, head: CheckedProject, new: Route
) -> Iterator[Finding]:  # fmt: skip
    """Yield the breaks of a route's answers, without errors and answers of middleware."""
    was, now = old.function, new.function
    if base.flows.of(was) is head.flows.of(now):
        return
    answers = outputs(head, now)
    for output in outputs(base, was):
        if output.is_error or output.status is None:
            continue
        place = _output_place(head.functions[now], output.status)
        for code, message in _output_breaks(output, answers):
            yield finding(code, title(new), f"{output.status}: {message}", place)


def _output_breaks(old: Output, answers: tuple[Output, ...]) -> Iterator[AnswerBreak]:
    same = [answer for answer in answers if answer.status == old.status and not answer.is_error]
    if not same:
        if not any(answer.status is None for answer in answers):
            yield AnswerBreak("status-removed", "no response has this status any more")
        return
    new = next((output for output in same if output.content_type == old.content_type), None)
    if new is None and old.content_type:
        now = same[0].content_type or "nothing"
        yield AnswerBreak("field-type", f"the answer was {old.content_type}, and is {now} now")
    elif new is not None and old.schema is not None and new.schema is not None:
        yield from schema_breaks(old.schema, new.schema)


def schema_breaks(old: Schema, new: Schema, path: str = "") -> Iterator[AnswerBreak]:
    """Yield the breaks for readers of one schema in values of another.

    Args:
        path: the path of the value in the answer, for example `items[].id`; empty for the whole.
    """
    (was_null, before), (is_null, after) = _split(old), _split(new)
    if {} in before:
        return
    if {} in after:
        yield AnswerBreak("field-type", f"{_named(path)} was {_words(old)}, and is unknown now")
        return
    if is_null and not was_null:
        yield AnswerBreak("field-null", f"{_named(path)} may be null now")
    for part in after:
        known = [it for it in before if _reads(it, part)]
        if known:
            yield from min((list(_inner_breaks(it, part, path)) for it in known), key=len)
        else:
            message = f"{_named(path)} was {_words(old)}, and may be {_kind(part)} now"
            yield AnswerBreak("field-type", message)


def _inner_breaks(old: Schema, new: Schema, path: str) -> Iterator[AnswerBreak]:
    if "enum" in old and not {*new.get("enum", [None])} <= {*old["enum"]}:
        yield AnswerBreak("field-enum", f"{_named(path)} may have other values now")
    if "items" in old and "items" in new:
        yield from schema_breaks(old["items"], new["items"], f"{path}[]")
    if "properties" in old and "properties" not in new:
        yield AnswerBreak("field-type", f"the fields of {_named(path)} are unknown now")
    elif "properties" in old:
        yield from _property_breaks(old, new, path)


def _property_breaks(old: Schema, new: Schema, path: str) -> Iterator[AnswerBreak]:
    optional = {*old.get("required", ())} - {*new.get("required", ())}
    for name, before in old["properties"].items():
        inner = f"{path}.{name}" if path else name
        after = new["properties"].get(name)
        if after is None:
            yield AnswerBreak("field-removed", f"'{inner}' is gone")
            continue
        if name in optional:
            yield AnswerBreak("field-optional", f"'{inner}' may be missing now")
        yield from schema_breaks(before, after, inner)


def _named(path: str) -> str:
    return f"'{path}'" if path else "the answer"


def _split(schema: Schema) -> tuple[bool, list[Schema]]:
    """Return whether null fits, and the other alternatives."""
    if "anyOf" in schema:
        parts = [_split(part) for part in schema["anyOf"]]
        return any(null for null, _ in parts), [part for _, many in parts for part in many]
    kind = schema.get("type")
    if kind == "null":
        return True, []
    if isinstance(kind, list):
        return True, [{**schema, "type": kind[0]}]
    bare = {key: value for key, value in schema.items() if key not in {"description", "default"}}
    return False, [bare]


def _reads(old: Schema, new: Schema) -> bool:
    was, now = old.get("type"), new.get("type")
    if (was, now) == ("number", "integer"):
        return True
    return was == now and old.get("format") in {None, "int64", new.get("format")}


def _words(schema: Schema) -> str:
    null, many = _split(schema)
    found = " or ".join(dict.fromkeys(_kind(part) for part in many)) or "null"
    return f"{found} or null" if null and many else found


_NAMES: dict[Any, str] = {
    "object": "a map", "array": "a list", "string": "text", "integer": "an integer",
    "number": "a number", "boolean": "true or false", None: "any value",
}  # fmt: skip


def _kind(schema: Schema) -> str:
    kind, form = schema.get("type"), schema.get("format")
    return f"a {form}" if form and kind == "string" else _NAMES.get(kind, str(kind))


def _output_place(function: Resource[Function], status: int) -> Place:
    """Return the place where a function answers with a status, else its beginning."""
    if str(status) in function.model.output:
        return function.place("output", str(status), key=True)
    returns = [step for step in function.model.every_step if isinstance(step, Return)]
    for step in returns:
        given = step.return_.status
        if isinstance(given, Constant) and given.value == status:
            return function.at(step.mark)
    return function.at(returns[0].mark) if returns else function.place()
