"""Describe an addon of the project's own: the steps of its files, with their parameters."""

from __future__ import annotations

from typing import Any

from bbops.base.diagnostics import suggest
from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository
from bbops.interfaces.mcp.project.context_schema import ContextSchemaResult
from bbops.interfaces.mcp.tool import NextCall, ToolError
from bbops.language.addons._base import kinds as addon_kinds
from bbops.language.addons._base import step_keys
from bbops.language.json_schema import field_schema, shape_schema
from bbops.language.loading.load import load
from bbops.language.project import Project, Resource
from bbops.language.resources._own_addon import OwnStep
from bbops.language.steps._base import step_kinds


def describe_own(repository: ProjectRepository, addon: str, step: str) -> ContextSchemaResult:
    """Describe an addon of the live project, or one of its steps.

    Raises:
        Refused: there is no such addon; the addon of a draft is in its files.
    """
    project = load(repository.tree(repository.head), repository.cache.checked.files).project
    own = project.own_steps if project else {}
    if addon not in own or not project:
        names = [*step_kinds(), *step_keys()] if step else [*addon_kinds(), *own]
        what, name = ("step", step) if step else ("addon", addon)
        hint = suggest(name, names) or f"ask with kind {'function' if step else 'addon'}"
        ref = f"addon/{step}" if step else f"addon/{addon}"
        call = NextCall("context_read", {"refs": [ref]}, "with your draft, if it has it")
        raise ToolError(f"there is no {what} '{name}'", hint=hint, next=(call,))
    if not step:
        return _of_addon(project, addon)
    name = step.partition(".")[2]
    if name not in own[addon]:
        hint = suggest(step, [f"{addon}.{key}" for key in own[addon]]) or f"ask with addon {addon}"
        raise ToolError(f"there is no step '{step}'", hint=hint)
    return _of_step(step, own[addon][name])


def _of_addon(project: Project, addon: str) -> ContextSchemaResult:
    steps = project.own_steps[addon]
    return ContextSchemaResult(
        choices={f"{addon}.{name}": step.model.title or name for name, step in steps.items()},
        note=f"an addon of the project's own: its steps are files in addons/{addon}/",
    )


def _of_step(key: str, step: Resource[OwnStep]) -> ContextSchemaResult:
    model = step.model
    schema: dict[str, Any] = {
        "type": "object", "required": [key],
        "properties": {key: {**shape_schema(model.parameters), "additionalProperties": False}},
    }  # fmt: skip
    note = f"it is written in {step.file}"
    if model.gives is not None:
        schema["$defs"] = {"gives": field_schema(model.gives)}
        note += "; its result is 'gives' in $defs"
    return ContextSchemaResult(schema=schema, note=note)
