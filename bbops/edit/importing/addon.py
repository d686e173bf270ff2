"""Write an addon of the project's own from a document: its file, one file for each step."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from bbops.base.errors import BbopsError
from bbops.base.model import plain
from bbops.base.names import INLINE
from bbops.base.registry import file_name as snake
from bbops.edit.authoring.changing import Change, set_key
from bbops.edit.authoring.formatting import digest_of, format_file, write_file
from bbops.edit.authoring.naming import Name
from bbops.edit.importing.comparing import Change as StepChange
from bbops.edit.importing.comparing import compare
from bbops.edit.importing.document import Refused, settings_of
from bbops.language.addons._base import kind as addon_kind

MOST_STEPS: Final = 100
_NAME: Final = re.compile(r"[a-z][A-Za-z0-9]{0,62}").fullmatch

MakeStep = Callable[[str], tuple[dict[str, Any], list[str]]]
"""Makes the file of one step, and notes about it; takes the operation that is wanted."""


@dataclass(frozen=True, slots=True)
class Source:
    """What an addon is made from.

    Attributes:
        settings: keys of its file that say where it is: `server` or `mcp`, `auth`.
        note: what its file says of where it came from.
        make: makes a step.
    """

    settings: Mapping[str, Any]
    note: Mapping[str, Any]
    make: MakeStep


@dataclass(frozen=True, slots=True)
class Step:
    """What became of one step: `made`, `changed`, `same`, or `kept` since somebody edited it."""

    name: str
    operation: str
    what: str
    changes: tuple[StepChange, ...] = ()
    functions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Imported:
    """What an import does to a project."""

    addon: str
    steps: list[Step] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def import_addon(change: Change, name: str, source: Source, wanted: Mapping[str, str]) -> Imported:
    """Add an addon to a change, or read it again.

    Args:
        wanted: operations by the names of their steps; those that are there already are read again.

    Raises:
        BbopsError: a name is none, or an operation cannot become a step.
    """
    check_names(name, wanted)
    every = {**_known(change, name), **wanted}
    if not every:
        raise Refused("no step was named", hint="add one, such as createRefund='POST /v1/refunds'")
    if len(every) > MOST_STEPS:
        raise Refused(f"an addon has at most {MOST_STEPS} steps here, got {len(every)}")
    found = Imported(name)
    _addon(change, name, source, found)
    users = find_users(change)
    for step, operation in every.items():
        found.steps.append(_step(change, name, step, operation, source, users, wanted))
    return found


def check_names(name: str, wanted: Iterable[str]) -> None:
    """Refuse names that an addon and its steps cannot have. Raises: Refused: one of them."""
    for one in (name, *wanted):
        if not _NAME(one):
            raise Refused(f"'{one[:80]}' is not a name here", hint="names are in camelCase")
    if addon_kind(name) is not None:
        hint = "choose another name, such as 'my" + name[:1].upper() + name[1:] + "'"
        raise Refused(f"'{name}' is an addon of the catalog", hint=hint)


def _known(change: Change, addon: str) -> dict[str, str]:
    """Return the operations that steps of the addon were made from."""
    found = {}
    for name in change.names():
        owner, slash, step = name.name.partition("/")
        if name.folder == "addons" and slash and owner == addon:
            source = change.document(name.file).root.get("source") or {}
            if isinstance(source, Mapping) and isinstance(source.get("operation"), str):
                found[step] = str(source["operation"])
    return found


# ---- the addon
def _addon(change: Change, name: str, source: Source, found: Imported) -> None:
    file = Name("addons", name)
    if change.exists(file):
        _update(change, file, source, found)
        return
    auth = source.settings.get("auth") or {}
    variables = {key: f"{snake(name)}_{snake(key)}".upper() for key in settings_of(auth)}
    told: dict[str, Any] = {"enabled": True, **source.settings, "source": dict(source.note)}
    if not auth:
        told.pop("auth", None)
        found.notes.append("nothing says how it is told who asks: add 'auth' if it needs one")
    if variables:
        told["config"] = {key: f"${{ env.{one} }}" for key, one in variables.items()}
    declared = change.document("project.yaml").root.get("env") or {}
    for variable in variables.values():
        if variable not in declared:
            set_key(change, Name("", "project"), f"env.{variable}", "{ secret: true }")
    write_resource(change, file, told)


def _update(change: Change, file: Name, source: Source, found: Imported) -> None:
    root = change.document(file.file).root
    for key in ("server", "mcp"):
        new, old = source.settings.get(key), root.get(key)
        if new != old and not (new is None and old is None):
            found.notes.append(f"{key} stays {_told(old)}; the document says {_told(new)}")
    if plain(root.get("source")) != dict(source.note):
        set_key(change, file, "source", write_flow(source.note))


def _told(value: object) -> str:
    return f"'{value}'" if value else "as it is" if value is None else str(value)


def write_flow(data: Mapping[str, Any]) -> str:
    """Return data as a value on one line."""
    text = write_file({"x": dict(data)})
    inner = text.removeprefix("x:").strip()
    return inner if inner.startswith("{") else "{ " + ", ".join(
        line.strip() for line in inner.splitlines()
    ) + " }"  # fmt: skip


# ---- a step
def _step(
    change: Change, addon: str, name: str, operation: str, source: Source,
    users: Mapping[str, list[str]], wanted: Mapping[str, str],
) -> Step:  # fmt: skip
    file = Name("addons", f"{addon}/{name}")
    using = tuple(users.get(f"{addon}.{name}", ()))
    try:
        made, notes = source.make(operation)
    except Refused as refusal:
        if name in wanted and not change.exists(file):
            raise
        gone = StepChange("breaks", refusal.message)
        return Step(name, operation, "kept", (gone,), using)
    digest = digest_of(made)
    made["source"] = {"operation": operation, "digest": digest}
    if not change.exists(file):
        write_resource(change, file, made)
        return Step(name, operation, "made", (), using, tuple(notes))
    old = plain(change.document(file.file).root)
    told = old.get("source") or {}
    changes = tuple(compare(old, made))
    if told.get("digest") != digest_of(old):
        return Step(name, operation, "kept", changes, using, ("somebody edited it",))
    if told == made["source"]:
        return Step(name, operation, "same", (), using, tuple(notes))
    write_resource(change, file, made)
    return Step(name, operation, "changed", changes, using, tuple(notes))


def find_users(change: Change) -> dict[str, list[str]]:
    """Return the functions that use each step of an addon."""
    found: dict[str, list[str]] = {}
    for file, reference in change.references():
        if file.startswith(("functions/", "endpoints/")) and reference.to.folder == "addons":
            key = reference.to.name.replace("/", ".")
            folder, _, name = file.removesuffix(".yaml").partition("/")
            one = f"{INLINE}{name}" if folder == "endpoints" else name
            if one not in found.setdefault(key, []):
                found[key].append(one)
    return found


def write_resource(change: Change, file: Name, data: Mapping[str, Any]) -> None:
    """Add a file to a change, in our style. Raises: BbopsError: it cannot be written."""
    text = write_file(data).encode()
    formatted = format_file(file.file, text)
    if formatted.diagnostics:
        message = f"{file.file} cannot be written: {formatted.diagnostics[0].message}"
        raise BbopsError(message)
    change.files[file.file] = formatted.text.encode()
