"""Describe a resource kind, a step or an addon by its schema."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from msgspec import UNSET, Meta, UnsetType

from bbops.base.diagnostics import suggest
from bbops.interfaces.mcp.models import DOC, FOLDERS, KINDS, SETTINGS, Kind
from bbops.interfaces.mcp.operation import RepositoryOperation
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.refs import Ref
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolError, ToolParams, ToolResult

if TYPE_CHECKING:
    from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository
    from bbops.language.project import Project, Resource
    from bbops.language.resources._own_addon import OwnStep


if TYPE_CHECKING:
    from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository

_UNSUPPORTED: Final = "this version does not run it yet: a change that adds it is rejected"
_DEFINITIONS: Final = "#/$defs/"
_STEP: Final = {"type": "object", "description": "a step: see context_schema with 'step'"}
_SAMPLE: Final = {
    "project.yaml": "bbops: 1\nname: sample\ndescription: What it is for.\n",
    "tables/notes.yaml": "columns:\n  id: { type: uuid, primaryKey: true, auto: uuid }\n",
    "addons/chatModel.yaml": "enabled: true\n",
    "functions/notes/list.yaml": "steps:\n  - return: { value: { ok: true } }\n",
}
_NAMES: Final = {"addon": "payments", "table": "orders", "test": "notes/list"}


class ContextSchemaParams(ToolParams, frozen=True):
    """The kind, the step or the addon; without parameters, all kinds are listed."""

    kind: Kind | UnsetType = UNSET
    step: Annotated[str, Meta(max_length=80, description="such as find or payments.refund")] = ""
    addon: Annotated[str, Meta(max_length=80)] = ""


class ContextSchemaResult(ToolResult, frozen=True, kw_only=True):
    """A JSON Schema 2020-12, a valid example, and the choices."""

    schema: dict[str, Any] = {}
    example: Any = None
    choices: dict[str, str] = {}
    note: str = ""


async def run(backend: ProjectBackend, params: ContextSchemaParams) -> ContextSchemaResult:
    """Return the schema."""
    return await backend.run_operation(SCHEMA, params)


def do(repository: ProjectRepository, params: ContextSchemaParams) -> ContextSchemaResult:
    """Return the schema; without parameters, the resource kinds."""
    from bbops.language.addons._base import kind as addon_kind  # noqa: PLC0415

    if params.step or params.addon:
        name = params.addon or params.step.partition(".")[0]
        if addon_kind(name) is None and (params.addon or "." in params.step):
            return _of_own(repository, name, params.step)
    if params.step:
        return _of_step(params.step)
    if params.addon:
        return _of_addon(params.addon)
    if not isinstance(params.kind, UnsetType):
        return _of_kind(params.kind)
    return ContextSchemaResult(
        choices={
            kind: _titled(FOLDERS[kind] or "project.yaml", is_run=_is_run(kind)) for kind in KINDS
        },
        note="ask for one kind, step or addon; refs are kind/name, such as endpoint/orders.list",
    )


def _is_run(kind: Kind) -> bool:
    from bbops.language.loading.load import kinds  # noqa: PLC0415

    return kind == DOC or kinds()[FOLDERS[kind]].is_supported()


def _of_kind(kind: Kind) -> ContextSchemaResult:
    from bbops.interfaces.mcp.drafting.files import TEXT  # noqa: PLC0415
    from bbops.language.addons._base import kinds as addon_kinds  # noqa: PLC0415
    from bbops.language.steps._base import step_kinds  # noqa: PLC0415
    from bbops.runtime.vendors import find_steps  # noqa: PLC0415

    if kind == DOC:
        schema = {"type": "object", "properties": {TEXT: {"type": "string"}}, "required": [TEXT]}
        return ContextSchemaResult(
            schema=schema, example={TEXT: "# Orders\n\nWhat callers should know.\n"}
        )
    if kind == "addon":
        choices = {
            name: _titled(entry.summary, is_run=bool(find_steps(name)))
            for name, entry in addon_kinds().items()
        }
        note = "the file is named after the addon; ask with addon for its config and steps"
        return ContextSchemaResult(example=_example(kind), choices=choices, note=note)
    whole = _schemas()["project" if kind == SETTINGS else kind]
    schema = {key: value for key, value in whole.items() if key not in {"$defs", "$schema"}}
    choices, note = {}, ""
    if kind == "function":
        choices = {
            key: _titled(entry.title, is_run=entry.is_supported())
            for key, entry in step_kinds().items()
        }
        note = "a step has one of these keys; ask with step, or with addon for its steps"
    if kind == "endpoint":
        note = "it has either function or steps, like a function: ask with step"
    return ContextSchemaResult(
        schema=_with_definitions(schema, whole.get("$defs", {})), example=_example(kind),
        choices=choices, note=_with_warning(note, is_run=_is_run(kind)),
    )  # fmt: skip


def _with_warning(note: str, *, is_run: bool) -> str:
    return note if is_run else "; ".join(filter(None, [_UNSUPPORTED, note]))


def _titled(title: str, *, is_run: bool) -> str:
    return title if is_run else f"{title} (not run by this version)"


def _of_step(key: str) -> ContextSchemaResult:
    from bbops.interfaces.mcp.drafting.serialization import as_json  # noqa: PLC0415
    from bbops.language.addons._base import step_keys  # noqa: PLC0415
    from bbops.language.steps._base import find_step_kind, step_kinds  # noqa: PLC0415
    from bbops.source.yaml.document import load as load_document  # noqa: PLC0415

    kind = find_step_kind(key)
    if kind is None:
        names = [*step_kinds(), *step_keys()]
        hint = suggest(key, names) or "ask with kind function"
        raise ToolError(f"there is no step '{key}'", hint=hint)
    definitions = _schemas()["function"]["$defs"]
    example = load_document(kind.examples[0].steps.encode()).root if kind.examples else None
    return ContextSchemaResult(
        schema=_with_definitions(definitions[f"step.{key}"], definitions), example=as_json(example),
        note=_with_warning(
            "the steps of an example run in order; the last one often returns",
            is_run=kind.is_supported(),
        ),
    )  # fmt: skip


def _of_addon(name: str) -> ContextSchemaResult:
    from bbops.language.addons._base import kind as addon_kind  # noqa: PLC0415
    from bbops.runtime.vendors import find_steps  # noqa: PLC0415

    kind = addon_kind(name)
    assert kind is not None  # noqa: S101 - other names are the project's own addons
    definitions = _schemas()["addon"].get("$defs", {})
    config = definitions.get(f"config.{name}", {})
    schema = {
        "type": "object", "additionalProperties": False,
        "properties": {"enabled": {"type": "boolean"}, "config": config},
    }  # fmt: skip
    return ContextSchemaResult(
        schema=_with_definitions(schema, definitions), example=_example("addon", name),
        choices={
            f"{name}.{key}": _titled(action.title, is_run=key in find_steps(name))
            for key, action in kind.actions.items()
        },
        note=_with_warning(
            "a secret is '${ env.NAME }', declared in the env of the settings, never its value",
            is_run=bool(find_steps(name)),
        ),
    )  # fmt: skip


@cache
def _schemas() -> dict[str, Any]:
    from bbops.review.contract.editor import schemas  # noqa: PLC0415

    return schemas()


def _with_definitions(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema with its definitions; the definition of a step in general is left out."""
    used: dict[str, Any] = {}
    pending = [*_names(schema)]
    while pending:
        name = pending.pop()
        if name not in used:
            used[name] = _STEP if name == "step" else definitions[name]
            pending += _names(used[name])
    return {**schema, **({"$defs": dict(sorted(used.items()))} if used else {})}


def _names(node: Any) -> list[str]:
    if isinstance(node, list):
        return [name for item in node for name in _names(item)]
    if not isinstance(node, dict):
        return []
    ref = node.get("$ref")
    own = [ref.removeprefix(_DEFINITIONS)] if isinstance(ref, str) else []
    return [*own, *(name for item in node.values() for name in _names(item))]


def _example(kind: Kind, name: str = "") -> Any:
    """Return a small resource that is valid in a small project."""
    from bbops.edit.authoring.changing import Change  # noqa: PLC0415
    from bbops.edit.authoring.folder import Folder  # noqa: PLC0415
    from bbops.edit.authoring.making import make  # noqa: PLC0415
    from bbops.edit.authoring.naming import Name  # noqa: PLC0415
    from bbops.interfaces.mcp.drafting.serialization import as_json  # noqa: PLC0415
    from bbops.source.tree import MemoryTree  # noqa: PLC0415
    from bbops.source.yaml.document import load as load_document  # noqa: PLC0415

    name = name or _NAMES.get(kind, "orders")
    ref = Ref(kind, "" if kind == SETTINGS else name)
    if kind == SETTINGS:
        return as_json(load_document(_SAMPLE["project.yaml"].encode()).root)
    if ref.file in _SAMPLE:
        return as_json(load_document(_SAMPLE[ref.file].encode()).root)
    change = Change(Folder(Path(), MemoryTree(_SAMPLE)))
    make(change, Name(ref.folder, ref.name))
    return as_json(change.document(ref.file).root)


def _of_own(repository: ProjectRepository, addon: str, step: str) -> ContextSchemaResult:
    """Describe an addon of the live project, or one of its steps.

    Raises:
        Refused: there is no such addon; the addon of a draft is in its files.
    """
    from bbops.language.addons._base import kinds as addon_kinds  # noqa: PLC0415
    from bbops.language.addons._base import step_keys  # noqa: PLC0415
    from bbops.language.loading.load import load  # noqa: PLC0415
    from bbops.language.steps._base import step_kinds  # noqa: PLC0415

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
        return _of_own_addon(project, addon)
    name = step.partition(".")[2]
    if name not in own[addon]:
        hint = suggest(step, [f"{addon}.{key}" for key in own[addon]]) or f"ask with addon {addon}"
        raise ToolError(f"there is no step '{step}'", hint=hint)
    return _of_own_step(step, own[addon][name])


def _of_own_addon(project: Project, addon: str) -> ContextSchemaResult:
    steps = project.own_steps[addon]
    return ContextSchemaResult(
        choices={f"{addon}.{name}": step.model.title or name for name, step in steps.items()},
        note=f"an addon of the project's own: its steps are files in addons/{addon}/",
    )


def _of_own_step(key: str, step: Resource[OwnStep]) -> ContextSchemaResult:
    from bbops.language.json_schema import field_schema, shape_schema  # noqa: PLC0415

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


SCHEMA = RepositoryOperation("context_schema", ContextSchemaParams, ContextSchemaResult, do)

TOOL = McpTool(
    "context_schema", "Resource schema",
    "JSON Schema and an example of a resource kind, a function step or an addon; one at a time.",
    ContextSchemaParams, ContextSchemaResult, run,
)  # fmt: skip
