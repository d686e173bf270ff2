"""Say what an addon of the project's own has: the steps of its files, with what they take."""

from __future__ import annotations

from typing import Any

from bbops.base.diagnostics import suggest
from bbops.interfaces.mcp.drafting.bench import Bench
from bbops.interfaces.mcp.project.context_schema import Said
from bbops.interfaces.mcp.tool import Call, Refused
from bbops.language.addons._base import kinds as addon_kinds
from bbops.language.addons._base import step_keys
from bbops.language.loading.load import load
from bbops.language.project import Project, Resource
from bbops.language.resources._own_addon import OwnStep
from bbops.language.steps._base import step_kinds
from bbops.review.contract.schema import field_schema, shape_schema


def describe_own(bench: Bench, addon: str, step: str) -> Said:
    """Return what an addon of the live project has, or one of its steps.

    Raises:
        Refused: there is none of this name; a draft's are in its files.
    """
    project = load(bench.tree(bench.head), bench.cache.checked.files).project
    own = project.own_steps if project else {}
    if addon not in own or not project:
        known = [*step_kinds(), *step_keys()] if step else [*addon_kinds(), *own]
        what, name = ("step", step) if step else ("addon", addon)
        hint = suggest(name, known) or f"ask with kind {'function' if step else 'addon'}"
        ref = f"addon/{step}" if step else f"addon/{addon}"
        call = Call("context_read", {"refs": [ref]}, "with your draft, if it has it")
        raise Refused(f"there is no {what} '{name}'", hint=hint, next=(call,))
    if not step:
        return _of_addon(project, addon)
    name = step.partition(".")[2]
    if name not in own[addon]:
        hint = suggest(step, [f"{addon}.{one}" for one in own[addon]]) or f"ask with addon {addon}"
        raise Refused(f"there is no step '{step}'", hint=hint)
    return _of_step(step, own[addon][name])


def _of_addon(project: Project, addon: str) -> Said:
    steps = project.own_steps[addon]
    return Said(
        choices={f"{addon}.{name}": one.model.title or name for name, one in steps.items()},
        note=f"an addon of the project's own: its steps are files in addons/{addon}/",
    )


def _of_step(key: str, step: Resource[OwnStep]) -> Said:
    model = step.model
    schema: dict[str, Any] = {
        "type": "object", "required": [key],
        "properties": {key: {**shape_schema(model.parameters), "additionalProperties": False}},
    }  # fmt: skip
    note = f"it is written in {step.file}"
    if model.gives is not None:
        schema["$defs"] = {"gives": field_schema(model.gives)}
        note += "; its result is 'gives' in $defs"
    return Said(schema=schema, note=note)
