"""Find changed answers that clients rely on, as far as they are known before run time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from bbops.base.diagnostics import Place
from bbops.compiler.check import CheckedProject
from bbops.language.expressions.values import Constant
from bbops.language.json_schema import Schema
from bbops.language.project import Resource, Route
from bbops.language.resources.function import Function
from bbops.language.steps.return_ import Return
from bbops.review.contract.outputs import Output, outputs
from bbops.review.plan.finding import Finding, finding
from bbops.review.plan.pairs import title


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
        place = _place(head.functions[now], output.status)
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


def _place(function: Resource[Function], status: int) -> Place:
    """Return the place where a function answers with a status, else its beginning."""
    if str(status) in function.model.output:
        return function.place("output", str(status), key=True)
    returns = [step for step in function.model.every_step if isinstance(step, Return)]
    for step in returns:
        given = step.return_.status
        if isinstance(given, Constant) and given.value == status:
            return function.at(step.mark)
    return function.at(returns[0].mark) if returns else function.place()
