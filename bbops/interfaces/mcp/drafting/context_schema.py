"""Say how a resource, a step or an addon is written: a schema, an example, and the choices."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from msgspec import UnsetType

from bbops.base.diagnostics import suggest
from bbops.edit.authoring.changing import Change
from bbops.edit.authoring.folder import Folder
from bbops.edit.authoring.making import make
from bbops.edit.authoring.naming import Name
from bbops.interfaces.mcp.drafting.bench import Bench
from bbops.interfaces.mcp.drafting.files import TEXT
from bbops.interfaces.mcp.drafting.own_addons import describe_own
from bbops.interfaces.mcp.drafting.serialization import as_json
from bbops.interfaces.mcp.models import DOC, FOLDERS, KINDS, SETTINGS, Kind
from bbops.interfaces.mcp.project.context_schema import Asking, Said
from bbops.interfaces.mcp.refs import Ref
from bbops.interfaces.mcp.tool import Refused
from bbops.language.addons._base import kind as addon_kind
from bbops.language.addons._base import kinds as addon_kinds
from bbops.language.addons._base import step_keys
from bbops.language.loading.load import kinds
from bbops.language.steps._base import find_step_kind, step_kinds
from bbops.review.contract.editor import schemas
from bbops.runtime.vendors import find_steps
from bbops.source.tree import MemoryTree
from bbops.source.yaml.document import load as load_document

_NOT_RUN: Final = "this version does not run it yet: a change that adds it is refused"
_DEFINED: Final = "#/$defs/"
_STEP: Final = {"type": "object", "description": "a step: see context_schema with 'step'"}
_SAMPLE: Final = {
    "project.yaml": "bbops: 1\nname: sample\ndescription: What it is for.\n",
    "tables/notes.yaml": "columns:\n  id: { type: uuid, primaryKey: true, auto: uuid }\n",
    "addons/chatModel.yaml": "enabled: true\n",
    "functions/notes/list.yaml": "steps:\n  - return: { value: { ok: true } }\n",
}
_NAMES: Final = {"addon": "payments", "table": "orders", "test": "notes/list"}


def do(bench: Bench, taken: Asking) -> Said:
    """Return it; without a question, what there is to ask about."""
    if taken.step or taken.addon:
        name = taken.addon or taken.step.partition(".")[0]
        if addon_kind(name) is None and (taken.addon or "." in taken.step):
            return describe_own(bench, name, taken.step)
    if taken.step:
        return _of_step(taken.step)
    if taken.addon:
        return _of_addon(taken.addon)
    if not isinstance(taken.kind, UnsetType):
        return _of_kind(taken.kind)
    return Said(
        choices={
            kind: _titled(FOLDERS[kind] or "project.yaml", is_run=_is_run(kind)) for kind in KINDS
        },
        note="ask with one kind, step or addon; refs are kind/name, such as endpoint/orders.list",
    )


def _is_run(kind: Kind) -> bool:
    return kind == DOC or kinds()[FOLDERS[kind]].is_supported()


def _of_kind(kind: Kind) -> Said:
    if kind == DOC:
        schema = {"type": "object", "properties": {TEXT: {"type": "string"}}, "required": [TEXT]}
        return Said(schema=schema, example={TEXT: "# Orders\n\nWhat callers should know.\n"})
    if kind == "addon":
        choices = {
            name: _titled(one.summary, is_run=bool(find_steps(name)))
            for name, one in addon_kinds().items()
        }
        note = "the file is named after the addon; ask with addon for its config and steps"
        return Said(example=_example(kind), choices=choices, note=note)
    whole = _schemas()["project" if kind == SETTINGS else kind]
    schema = {key: one for key, one in whole.items() if key not in {"$defs", "$schema"}}
    choices, note = {}, ""
    if kind == "function":
        choices = {
            key: _titled(one.title, is_run=one.is_supported()) for key, one in step_kinds().items()
        }
        note = "a step has one of these keys; ask with step, or with addon for its steps"
    if kind == "endpoint":
        note = "it has either function or steps, which are those of a function: ask with step"
    return Said(
        schema=_with_definitions(schema, whole.get("$defs", {})), example=_example(kind),
        choices=choices, note=_marked(note, is_run=_is_run(kind)),
    )  # fmt: skip


def _marked(note: str, *, is_run: bool) -> str:
    return note if is_run else "; ".join(filter(None, [_NOT_RUN, note]))


def _titled(title: str, *, is_run: bool) -> str:
    return title if is_run else f"{title} (not run by this version)"


def _of_step(key: str) -> Said:
    kind = find_step_kind(key)
    if kind is None:
        known = [*step_kinds(), *step_keys()]
        hint = suggest(key, known) or "ask with kind function"
        raise Refused(f"there is no step '{key}'", hint=hint)
    defined = _schemas()["function"]["$defs"]
    example = load_document(kind.examples[0].steps.encode()).root if kind.examples else None
    return Said(
        schema=_with_definitions(defined[f"step.{key}"], defined), example=as_json(example),
        note=_marked(
            "the steps of an example run in order; the last one often returns",
            is_run=kind.is_supported(),
        ),
    )  # fmt: skip


def _of_addon(name: str) -> Said:
    kind = addon_kind(name)
    assert kind is not None  # noqa: S101 - others are the project's own
    defined = _schemas()["addon"].get("$defs", {})
    config = defined.get(f"config.{name}", {})
    schema = {
        "type": "object", "additionalProperties": False,
        "properties": {"enabled": {"type": "boolean"}, "config": config},
    }  # fmt: skip
    return Said(
        schema=_with_definitions(schema, defined), example=_example("addon", name),
        choices={
            f"{name}.{key}": _titled(one.title, is_run=key in find_steps(name))
            for key, one in kind.actions.items()
        },
        note=_marked(
            "a secret is '${ env.NAME }', declared in the env of the settings, never its value",
            is_run=bool(find_steps(name)),
        ),
    )  # fmt: skip


@cache
def _schemas() -> dict[str, Any]:
    return schemas()


def _with_definitions(schema: Mapping[str, Any], defined: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema with the definitions it needs; that of any step is left out."""
    found: dict[str, Any] = {}
    waiting = [*_names(schema)]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = _STEP if name == "step" else defined[name]
            waiting += _names(found[name])
    return {**schema, **({"$defs": dict(sorted(found.items()))} if found else {})}


def _names(node: Any) -> list[str]:
    if isinstance(node, list):
        return [name for one in node for name in _names(one)]
    if not isinstance(node, dict):
        return []
    here = node.get("$ref")
    own = [here.removeprefix(_DEFINED)] if isinstance(here, str) else []
    return [*own, *(name for one in node.values() for name in _names(one))]


def _example(kind: Kind, name: str = "") -> Any:
    """Return a small resource that is right in a small project."""
    name = name or _NAMES.get(kind, "orders")
    ref = Ref(kind, "" if kind == SETTINGS else name)
    if kind == SETTINGS:
        return as_json(load_document(_SAMPLE["project.yaml"].encode()).root)
    if ref.file in _SAMPLE:
        return as_json(load_document(_SAMPLE[ref.file].encode()).root)
    change = Change(Folder(Path(), MemoryTree(_SAMPLE)))
    make(change, Name(ref.folder, ref.name))
    return as_json(change.document(ref.file).root)
