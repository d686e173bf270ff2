"""Compile `errors` of project.yaml: what the server's own answers say in a project."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from bbops.compiler.check.automatic import ANSWER, MESSAGE
from bbops.language.expressions.check import check_value
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.types import Type
from bbops.language.expressions.values import Value
from bbops.language.project import Project
from bbops.language.steps._flow import Flow


def compile_wording(project: Project) -> dict[str, dict[str, Any]]:
    """Return what a project words, as marshal can write it: answers by code, messages by rule."""
    file, errors = project.settings.file, project.settings.model.errors
    return {
        "answers": {
            code: {"status": one.status, "value": _compiled(file, one.value, ANSWER)}
            for code, one in errors.answers.items()
        },
        "messages": {
            rule: _compiled(file, value, MESSAGE) for rule, value in errors.messages.given.items()
        },
    }


def _compiled(file: str, value: Value | None, names: Mapping[str, Type]) -> dict[str, Any] | None:
    """Return the code of a function that gives a value; None where there is none."""
    if value is None:
        return None
    scope = Scope(names, _ignore)
    check_value(value, scope)
    flow = Flow(file, scope, {}, variables=(), exports=False)
    given = flow.value(value)
    now = "    now_ = r_host.clock.now()\n" if flow.uses_now else ""
    code = flow.run(f"def worded(r_host, r_error):\n{now}    return given", given=given)
    tree = ast.fix_missing_locations(ast.Module(code, []))
    return {
        "code": compile(tree, file, "exec", dont_inherit=True, optimize=1),
        "uses": flow.uses,
    }


def _ignore(*_mistake: object) -> None:
    """What is wrong was told when the project was checked."""
