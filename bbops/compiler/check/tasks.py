"""Tasks: what they give their functions fits, and names that they had before are free."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bbops.base.diagnostics import Diagnostic
from bbops.language.expressions.values import Constant, ListValue, MapValue, Value
from bbops.language.project import Project, Resource
from bbops.language.resources.task import Task
from bbops.language.shape import shape_spec
from bbops.runtime.values.shapes import compile_shape


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield values that do not fit, and names of resources that are there."""
    for task in project.tasks.values():
        yield from _input(project, task)
    for named in (project.tasks, project.triggers, project.agents):
        for one in named.values():
            yield from _renamed(one, named)


def constant_of(value: Value | None) -> Any:
    """Return what constants stand for; None of what holds an expression, or was left out."""
    match value:
        case Constant():
            return value.value
        case MapValue():
            return {key: constant_of(one) for key, one in value.items}
        case ListValue():
            return [constant_of(one) for one in value.items]
    return None


def _input(project: Project, task: Resource[Task]) -> Iterator[Diagnostic]:
    given, function = task.model.input, project.functions.get(task.model.function)
    if given is None:
        if function is not None and any(_must_be_given(function.model.input or {})):
            names = ", ".join(f"'{name}'" for name in _must_be_given(function.model.input or {}))
            message = f"function '{function.name}' needs input {names}"
            yield Diagnostic(task.place("function"), "missing-argument", message, "add 'input'")
        return
    if not _is_constant(given) or not isinstance(given, MapValue):
        message = "'input' of a task is a map of constants"
        hint = "compute values in the function, or read 'env' there"
        yield Diagnostic(task.place("input"), "task-input", message, hint)
    elif function is not None:
        yield from _fit(task, function, constant_of(given))


def _fit(
    task: Resource[Task], function: Resource[Any], given: dict[str, Any]
) -> Iterator[Diagnostic]:
    shape, errors = function.model.input or {}, dict[str, list[str]]()
    known = {name.rstrip("?") for name in shape}
    for name in sorted(given.keys() - known):
        place = task.place("input", name, key=True)
        message = f"function '{function.name}' declares no input '{name}'"
        yield Diagnostic(place, "unknown-field", message)
    compile_shape(shape_spec(shape))(given, "", errors)
    for path, texts in errors.items():
        message = f"input '{path}' of function '{function.name}' {texts[0]}"
        yield Diagnostic(task.place("input", *path.split(".")), "task-input", message)


def _must_be_given(shape: Mapping[str, Any]) -> list[str]:
    return [
        name for name, field in shape.items() if not name.endswith("?") and field.default is None
    ]  # fmt: skip


def _is_constant(value: Value) -> bool:
    match value:
        case MapValue():
            return all(_is_constant(one) for _, one in value.items)
        case ListValue():
            return all(map(_is_constant, value.items))
    return isinstance(value, Constant)


def _renamed(one: Resource[Any], named: Mapping[str, Resource[Any]]) -> Iterator[Diagnostic]:
    old = one.model.renamed_from
    if old is None:
        return
    others = [
        other.name for other in named.values()
        if other is not one and other.model.renamed_from == old
    ]  # fmt: skip
    if old in named:
        what = "itself" if old == one.name else f"{one.kind} '{old}', which still exists"
        message = f"'renamedFrom' names {what}"
        hint = "remove 'renamedFrom'"
    elif others:
        message = f"{one.kind} '{others[0]}' was renamed from '{old}', too"
        hint = "keep one of them"
    else:
        return
    yield Diagnostic(one.place("renamedFrom"), "renamed-from", message, hint)
