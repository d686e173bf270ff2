"""What a route answers, by status: its function, what runs before it, and the server itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bbops.compiler.check import CheckedProject
from bbops.language.expressions.values import Constant
from bbops.language.project import Resource, Route
from bbops.language.resources.function import Function
from bbops.language.steps.throw import Throw
from bbops.review.contract.automatic import automatic, worded
from bbops.review.contract.contract import Answer
from bbops.review.contract.outputs import JSON, outputs, type_of
from bbops.review.contract.schema import any_of, type_schema


def answers(project: CheckedProject, route: Route, *, has_body: bool) -> tuple[Answer, ...]:
    """Return every answer of a route, those of a status that is not known before at the end.

    Args:
        project: that was checked without mistakes.
        route: what is asked.
        has_body: whether it reads one.
    """
    functions = list(running(project, route))
    found = [*_given(project, route)]
    for function in functions:
        found += _thrown(project, function)
    found += (
        Answer(one.status, JSON, one.schema, (one.reason,), one.headers)
        for one in automatic(project, route, functions, has_body=has_body)
    )
    return tuple(_merged(found))


def running(project: CheckedProject, route: Route) -> Iterator[Resource[Function]]:
    """Yield every function that a request may run: the route's own, middleware, what they call."""
    todo, seen = [route.function, *route.middleware], set[str]()
    while todo:
        name = todo.pop(0)
        if name not in seen:
            seen.add(name)
            yield project.functions[name]
            todo += project.callees[name]


def _given(project: CheckedProject, route: Route) -> Iterator[Answer]:
    """Yield what is returned; middleware answers only by a `return` with a value."""
    own = route.function
    for name in dict.fromkeys((own, *route.middleware)):
        for one in outputs(project, name):
            is_declared = bool(project.functions[name].model.output)
            if (one.is_error and not is_declared) or (name != own and one.schema is None):
                continue
            yield Answer(one.status, one.content_type, one.schema)


def _thrown(project: CheckedProject, function: Resource[Function]) -> Iterator[Answer]:
    scope = project.flows.of(function.name).scope
    for step in function.model.every_step:
        if not isinstance(step, Throw) or not step.throw.model_fields_set:
            continue  # without anything it throws an error again that is told of already
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
    for one in found:
        groups.setdefault((one.status, one.content_type), []).append(one)
    for (status, content_type), many in sorted(groups.items(), key=_rank):
        schemas = [one.schema for one in many if one.schema is not None]
        yield Answer(
            status, content_type, any_of(schemas) if schemas else None,
            _each(one.reasons for one in many), _each(one.headers for one in many),
        )  # fmt: skip


def _each(texts: Iterable[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for some in texts for text in some))


def _rank(group: tuple[tuple[int | None, str], object]) -> tuple[int, str]:
    status, content_type = group[0]
    return (1000 if status is None else status), content_type
