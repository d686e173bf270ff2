"""Requests with their answers: from the project's tests, completed from shapes, or from shapes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from bbops.base.model import plain
from bbops.language.expressions.values import Constant, ListValue, MapValue, Value
from bbops.language.json_schema import Schema
from bbops.language.project import Project, Route
from bbops.language.resources.test import Case
from bbops.review.contract.automatic import ERROR, error_sample
from bbops.review.contract.contract import Answer, Body, Example, Parameter
from bbops.review.contract.outputs import JSON
from bbops.runtime.values.failures import NOTHING

MOST: Final = 3
"""The most successful requests that are shown for a route."""
_FORMATS: Final = {
    "date-time": "2026-01-02T03:04:05Z", "date": "2026-01-02", "email": "ada@example.com",
    "uuid": "00000000-0000-4000-8000-000000000001", "uri": "https://example.com",
    "decimal": "1.50", "binary": "...",
}  # fmt: skip


def examples(
    project: Project, route: Route, parameters: Sequence[Parameter], body: Body | None,
    answers: Sequence[Answer],
) -> tuple[Example, ...]:  # fmt: skip
    """Return examples of a route: successful ones of its tests, else one from its shapes."""
    found = list(_of_tests(project, route, parameters, answers))
    good = [example for example in found if example.status < 400][:MOST]
    if not good:
        good = list(_of_shapes(parameters, body, answers))
    bad = {example.status: example for example in reversed(found) if example.status >= 400}
    return (*good, *(bad[status] for status in sorted(bad)))


# ---- from tests
def _of_tests(
    project: Project, route: Route, parameters: Sequence[Parameter], answers: Sequence[Answer]
) -> Iterator[Example]:
    endpoint, function = route.endpoint.name, route.function
    for _, test in sorted(project.tests.items()):
        if test.model.endpoint == endpoint or test.model.function == function:
            for case in test.model.cases:
                yield from _of_case(case, parameters, answers)


def _of_case(
    case: Case, parameters: Sequence[Parameter], answers: Sequence[Answer]
) -> Iterator[Example]:
    """Yield the example of a case with a constant status and a constant request.

    A case with files has no example.
    """
    if case.files:
        return
    status = case.expect.status
    params, query = _known(case.params), _known(case.query)
    body = None if case.input is None else constant_of(case.input)
    answer = next((declared for declared in answers if declared.status == status), None)
    if status is None or answer is None or NOTHING in (params, query, body):
        return
    needed = {parameter.name for parameter in parameters if parameter.place == "path"}
    if not needed <= params.keys():
        return
    value = _filled(answer, None if case.expect.value is None else constant_of(case.expect.value))
    if value is not NOTHING:
        yield Example(case.name, params, query, body, status, value)


def _known(values: Mapping[str, Value]) -> Any:
    found = {str(name): constant_of(value) for name, value in values.items()}
    return NOTHING if any(sample is NOTHING for sample in found.values()) else found


def constant_of(value: Value) -> Any:
    """Return the value of a constant expression; NOTHING for any other."""
    match value:
        case Constant():
            return plain(value.value)
        case MapValue():
            found = {str(name): constant_of(item) for name, item in value.items}
            return NOTHING if any(inner is NOTHING for inner in found.values()) else found
        case ListValue():
            each = [constant_of(item) for item in value.items]
            return NOTHING if any(item is NOTHING for item in each) else each
        case _:
            return NOTHING


def _filled(answer: Answer, expected: Any) -> Any:
    """Return a whole answer for the part of it that a test expects."""
    if answer.schema is None or answer.content_type != JSON:
        return None
    if answer.schema == ERROR and answer.status is not None:
        sample: Any = error_sample(answer.status, *answer.reasons[:1])
    else:
        sample = sample_of(answer.schema)
    return sample if expected is None or expected is NOTHING else _merged(sample, expected)


def _merged(sample: Any, expected: Any) -> Any:
    if isinstance(sample, dict) and isinstance(expected, dict):
        inner = {
            name: _merged(sample.get(name, NOTHING), value) for name, value in expected.items()
        }
        return {**sample, **inner}
    if isinstance(sample, list) and isinstance(expected, list):
        first = sample[0] if sample else NOTHING
        return [_merged(first, item) for item in expected]
    return expected


# ---- from shapes
def _of_shapes(
    parameters: Sequence[Parameter], body: Body | None, answers: Sequence[Answer]
) -> Iterator[Example]:
    answer = next(
        (declared for declared in answers if declared.status and declared.status < 400), None
    )
    if answer is None or answer.status is None:
        return
    params = _samples(parameter for parameter in parameters if parameter.place == "path")
    query = _samples(
        parameter for parameter in parameters if parameter.place == "query" and parameter.required
    )
    sent = None if body is None else sample_of(body.schema)
    value = _filled(answer, None)
    if NOTHING not in (params, query, sent, value):
        yield Example("", params, query, sent, answer.status, value)


def _samples(parameters: Iterable[Parameter]) -> Any:
    found = {parameter.name: sample_of(parameter.schema) for parameter in parameters}
    return NOTHING if any(sample is NOTHING for sample in found.values()) else found


def sample_of(schema: Schema) -> Any:
    """Return a value that fits a schema, always the same; NOTHING if it needs a pattern."""
    if "anyOf" in schema:
        return sample_of(schema["anyOf"][0])
    for known in ("default", "enum"):
        if known in schema:
            return schema[known] if known == "default" else schema[known][0]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return _map_of(schema)
    if kind == "array":
        one = sample_of(schema["items"])
        return NOTHING if one is NOTHING else [one] * max(1, schema.get("minItems", 1))
    if kind == "string":
        return _text_of(schema)
    if kind in {"integer", "number"}:
        return schema.get("minimum", min(1, schema.get("maximum", 1)))
    return {"boolean": True, None: {}}.get(kind)


def _map_of(schema: Schema) -> Any:
    every = {name: sample_of(inner) for name, inner in schema.get("properties", {}).items()}
    if any(every[name] is NOTHING for name in schema.get("required", ()) if name in every):
        return NOTHING
    return {name: sample for name, sample in every.items() if sample is not NOTHING}


def _text_of(schema: Schema) -> Any:
    if "pattern" in schema:
        return NOTHING
    text = _FORMATS.get(schema.get("format", ""), "text")
    return text.ljust(schema.get("minLength", 0), "x")[: schema.get("maxLength")]
