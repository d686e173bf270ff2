"""The answers of a route by status: of its function, its middleware and the server itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bbops.compiler.check import CheckedProject
from bbops.language.expressions.values import Constant
from bbops.language.json_schema import any_of, type_schema
from bbops.language.project import Resource, Route
from bbops.language.resources.function import Function
from bbops.language.steps.throw import Throw
from bbops.review.contract.automatic import automatic, worded
from bbops.review.contract.contract import Answer
from bbops.review.contract.outputs import JSON, outputs, type_of


def answers(project: CheckedProject, route: Route, *, has_body: bool) -> tuple[Answer, ...]:
    """Return every answer of a route; answers with a computed status come last.

    Args:
        project: a checked project without mistakes.
        route: the route of the request.
        has_body: whether it reads a body.
    """
    functions = list(running(project, route))
    found = [*_given(project, route)]
    for function in functions:
        found += _thrown(project, function)
    found += (
        Answer(response.status, JSON, response.schema, (response.reason,), response.headers)
        for response in automatic(project, route, functions, has_body=has_body)
    )
    return tuple(_merged(found))


def running(project: CheckedProject, route: Route) -> Iterator[Resource[Function]]:
    """Yield every function that a request may run: the route's own, middleware, their callees."""
    todo, seen = [route.function, *route.middleware], set[str]()
    while todo:
        name = todo.pop(0)
        if name not in seen:
            seen.add(name)
            yield project.functions[name]
            todo += project.callees[name]


def _given(project: CheckedProject, route: Route) -> Iterator[Answer]:
    """Yield the answers of functions; middleware answers only by a `return` with a value."""
    own = route.function
    for name in dict.fromkeys((own, *route.middleware)):
        for output in outputs(project, name):
            is_declared = bool(project.functions[name].model.output)
            if (output.is_error and not is_declared) or (name != own and output.schema is None):
                continue
            yield Answer(output.status, output.content_type, output.schema)


def _thrown(project: CheckedProject, function: Resource[Function]) -> Iterator[Answer]:
    scope = project.flows.of(function.name).scope
    for step in function.model.every_step:
        if not isinstance(step, Throw) or not step.throw.model_fields_set:
            continue  # an empty `throw` repeats an error that is listed already
        error = step.throw
        status = error.status.value if isinstance(error.status, Constant) else None
        reason = _text(error.message)
        if error.value is not None:
            schema = type_schema(type_of(error.value, scope))
            yield Answer(status, JSON, schema, reason)
        else:
            meant = worded(project, status or 500)
            sent = None if status is None else meant.status
            yield Answer(sent, JSON, meant.schema, reason, meant.headers if status else ())


def _text(message: object) -> tuple[str, ...]:
    text = message.value if isinstance(message, Constant) else None
    return (str(text),) if isinstance(text, str) else ()


def _merged(found: Iterable[Answer]) -> Iterator[Answer]:
    """Yield the answers, one for each status and type of body."""
    groups: dict[tuple[int | None, str], list[Answer]] = {}
    for answer in found:
        groups.setdefault((answer.status, answer.content_type), []).append(answer)
    for (status, content_type), many in sorted(groups.items(), key=_rank):
        schemas = [answer.schema for answer in many if answer.schema is not None]
        yield Answer(
            status, content_type, any_of(schemas) if schemas else None,
            _each(answer.reasons for answer in many), _each(answer.headers for answer in many),
        )  # fmt: skip


def _each(texts: Iterable[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for some in texts for text in some))


def _rank(group: tuple[tuple[int | None, str], object]) -> tuple[int, str]:
    status, content_type = group[0]
    return (1000 if status is None else status), content_type
