"""Say which answers that clients rely on change, as far as they are known before anything runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from bbops.base.diagnostics import Place
from bbops.compiler.check import CheckedProject
from bbops.language.expressions.values import Constant
from bbops.language.project import Resource, Route
from bbops.language.resources.function import Function
from bbops.language.steps.return_ import Return
from bbops.review.contract.contract import Schema
from bbops.review.contract.outputs import Output, outputs
from bbops.review.plan.finding import Finding, finding
from bbops.review.plan.pairs import title


class Said(NamedTuple):
    """A break of one field of an answer: its code, and what is the matter."""

    code: str
    message: str


def find_answer_breaks(
    base: CheckedProject, old: Route, head: CheckedProject, new: Route
) -> Iterator[Finding]:  # fmt: skip
    """Yield what a route's answers lack; of errors, and of answers by middleware, nothing."""
    was, now = old.function, new.function
    if base.flows.of(was) is head.flows.of(now):
        return
    answers = outputs(head, now)
    for output in outputs(base, was):
        if output.is_error or output.status is None:
            continue
        place = _place(head.functions[now], output.status)
        for code, message in _output_breaks(output, answers):
            yield finding(code, title(new), f"{output.status}: {message}", place)


def _output_breaks(old: Output, answers: tuple[Output, ...]) -> Iterator[Said]:
    same = [one for one in answers if one.status == old.status and not one.is_error]
    if not same:
        if not any(one.status is None for one in answers):
            yield Said("status-removed", "no response has this status any more")
        return
    new = next((one for one in same if one.content_type == old.content_type), None)
    if new is None and old.content_type:
        now = same[0].content_type or "nothing"
        yield Said("field-type", f"the answer was {old.content_type}, and is {now} now")
    elif new is not None and old.schema is not None and new.schema is not None:
        yield from schema_breaks(old.schema, new.schema)


def schema_breaks(old: Schema, new: Schema, path: str = "") -> Iterator[Said]:
    """Yield what readers of one schema may stumble over in values of another.

    Args:
        path: of the value in the answer, for example `items[].id`; empty for the whole.
    """
    (was_null, before), (is_null, after) = _split(old), _split(new)
    if {} in before:
        return
    if {} in after:
        yield Said("field-type", f"{_named(path)} was {_words(old)}, and is unknown now")
        return
    if is_null and not was_null:
        yield Said("field-null", f"{_named(path)} may be null now")
    for one in after:
        known = [it for it in before if _reads(it, one)]
        if known:
            yield from min((list(_inner_breaks(it, one, path)) for it in known), key=len)
        else:
            message = f"{_named(path)} was {_words(old)}, and may be {_kind(one)} now"
            yield Said("field-type", message)


def _inner_breaks(old: Schema, new: Schema, path: str) -> Iterator[Said]:
    if "enum" in old and not {*new.get("enum", [None])} <= {*old["enum"]}:
        yield Said("field-enum", f"{_named(path)} may have other values now")
    if "items" in old and "items" in new:
        yield from schema_breaks(old["items"], new["items"], f"{path}[]")
    if "properties" in old and "properties" not in new:
        yield Said("field-type", f"the fields of {_named(path)} are unknown now")
    elif "properties" in old:
        yield from _property_breaks(old, new, path)


def _property_breaks(old: Schema, new: Schema, path: str) -> Iterator[Said]:
    optional = {*old.get("required", ())} - {*new.get("required", ())}
    for name, before in old["properties"].items():
        inner = f"{path}.{name}" if path else name
        after = new["properties"].get(name)
        if after is None:
            yield Said("field-removed", f"'{inner}' is gone")
            continue
        if name in optional:
            yield Said("field-optional", f"'{inner}' may be missing now")
        yield from schema_breaks(before, after, inner)


def _named(path: str) -> str:
    return f"'{path}'" if path else "the answer"


def _split(schema: Schema) -> tuple[bool, list[Schema]]:
    """Return whether null fits, and what else does, one each."""
    if "anyOf" in schema:
        parts = [_split(one) for one in schema["anyOf"]]
        return any(null for null, _ in parts), [one for _, many in parts for one in many]
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
    found = " or ".join(dict.fromkeys(_kind(one) for one in many)) or "null"
    return f"{found} or null" if null and many else found


_NAMES: dict[Any, str] = {
    "object": "a map", "array": "a list", "string": "text", "integer": "an integer",
    "number": "a number", "boolean": "true or false", None: "any value",
}  # fmt: skip


def _kind(schema: Schema) -> str:
    kind, form = schema.get("type"), schema.get("format")
    return f"a {form}" if form and kind == "string" else _NAMES.get(kind, str(kind))


def _place(function: Resource[Function], status: int) -> Place:
    """Return where a function answers with a status, else where it begins."""
    if str(status) in function.model.output:
        return function.place("output", str(status), key=True)
    returns = [step for step in function.model.every_step if isinstance(step, Return)]
    for step in returns:
        given = step.return_.status
        if isinstance(given, Constant) and given.value == status:
            return function.at(step.mark)
    return function.at(returns[0].mark) if returns else function.place()
