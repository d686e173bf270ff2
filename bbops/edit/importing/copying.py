"""Copy an addon of another repository: YAML that a review sees as a diff, and nothing else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from bbops.base.model import plain
from bbops.base.names import env_name
from bbops.edit.authoring.changing import Change, set_key
from bbops.edit.authoring.naming import Name
from bbops.edit.importing.addon import (
    MOST_STEPS,
    Imported,
    Step,
    check_names,
    find_users,
    write_resource,
)
from bbops.edit.importing.comparing import compare
from bbops.edit.importing.document import Refused, one_line
from bbops.language.resources._own_addon import OwnAddon, OwnStep
from bbops.source.tree import Tree
from bbops.source.yaml.document import load

MOST_FILE: Final = 200_000
_LOCAL: Final = ("source", "enabled", "config")
"""Keys that are a project's own: copying again leaves them alone."""


@dataclass(frozen=True, slots=True)
class Copied:
    """An addon as another repository has it.

    Attributes:
        root: its own file; `steps` the files of its steps, by their names.
    """

    root: Mapping[str, Any]
    steps: Mapping[str, Mapping[str, Any]]

    @property
    def digest(self) -> str:
        """The digest of what is copied."""
        shared = {key: one for key, one in self.root.items() if key not in _LOCAL}
        whole = json.dumps([shared, dict(self.steps)], sort_keys=True, separators=(",", ":"))
        return f"sha256:{hashlib.sha256(whole.encode()).hexdigest()}"


def read_addon(tree: Tree, path: str) -> Copied:
    """Return the addon at a path of a tree: `PATH.yaml` and the files in `PATH/`.

    Raises:
        Refused: there is none, or a file is not what an addon of a project's own has.
    """
    path = path.removesuffix(".yaml").strip("/")
    wanted = {
        str(one.path): one for one in tree.entries()
        if one.path == f"{path}.yaml" or (
            one.path.startswith(f"{path}/") and one.path.endswith(".yaml")
            and "/" not in one.path.removeprefix(f"{path}/")
        )
    }  # fmt: skip
    if f"{path}.yaml" not in wanted:
        raise Refused(f"the commit has no '{one_line(path, 200)}.yaml'", hint="name it behind '#'")
    if len(wanted) > MOST_STEPS + 1:
        raise Refused(f"an addon has at most {MOST_STEPS} steps here")
    for one in wanted.values():
        if one.kind != "file" or one.size_bytes > MOST_FILE:
            raise Refused(f"'{one.path}' is not a file of at most {MOST_FILE:,} bytes")
    data = tree.read([one.blob for one in wanted.values()])
    read = {name: _read(name, data.get(one.blob, b"")) for name, one in wanted.items()}
    root = read.pop(f"{path}.yaml")
    _require(OwnAddon, f"{path}.yaml", root)
    for name, step in read.items():
        _require(OwnStep, name, step)
    names = {name.removeprefix(f"{path}/").removesuffix(".yaml"): one for name, one in read.items()}
    return Copied(root, names)


def _read(name: str, data: bytes) -> Mapping[str, Any]:
    found = load(data)
    if found.problems or not isinstance(found.root, dict):
        why = found.problems[0].message if found.problems else "it is not a map of keys"
        raise Refused(f"'{name}' cannot be read: {why}")
    whole: Mapping[str, Any] = plain(found.root)
    return whole


def _require(model: type[OwnAddon | OwnStep], name: str, data: Mapping[str, Any]) -> None:
    try:
        found = model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        message = f"'{name}' is not a file of an addon: {where}: {first['msg']}"
        raise Refused(one_line(message, 300)) from None
    if isinstance(found, OwnAddon) and not found.is_own:
        raise Refused(f"'{name}' has no 'server', so it is not an addon of its own")


def copy_addon(
    change: Change, name: str, copied: Copied, note: Mapping[str, Any], *, force: bool = False
) -> Imported:
    """Add a copied addon to a change, or copy it again.

    Raises:
        Refused: a name is none, or somebody has edited the copy; `force` writes over it.
    """
    check_names(name, copied.steps)
    file, found = Name("addons", name), Imported(name)
    old = _held(change, name)
    if old is not None:
        source = old.root.get("source") or {}
        if not force and source.get("digest") != old.digest:
            hint = "copy your edits elsewhere, then add --force"
            raise Refused(f"somebody edited the copy of addon '{name}'", hint=hint)
    root = dict(copied.root) | {"source": {**note, "digest": copied.digest}}
    for key in ("enabled", "config"):
        if old is not None and key in old.root:
            root[key] = old.root[key]
    _declare(change, root)
    write_resource(change, file, {"enabled": True, **root})
    users = find_users(change)
    for step, data in copied.steps.items():
        found.steps.append(_copy(change, name, step, data, old, users))
    for step in sorted(old.steps.keys() - copied.steps.keys()) if old else ():
        change.files[Name("addons", f"{name}/{step}").file] = None
        using = tuple(users.get(f"{name}.{step}", ()))
        found.steps.append(Step(step, "gone in the commit", "removed", (), using))
    return found


def _held(change: Change, name: str) -> Copied | None:
    """Return the addon as the project has it."""
    file = Name("addons", name)
    if not change.exists(file):
        return None
    steps = {
        one.name.partition("/")[2]: plain(change.document(one.file).root)
        for one in change.names()
        if one.folder == "addons" and one.name.startswith(f"{name}/")
    }
    return Copied(plain(change.document(file.file).root), steps)


def _copy(
    change: Change, addon: str, step: str, data: Mapping[str, Any], old: Copied | None,
    users: Mapping[str, list[str]],
) -> Step:  # fmt: skip
    before = old.steps.get(step) if old else None
    using = tuple(users.get(f"{addon}.{step}", ()))
    operation = one_line(str(data.get("title") or step), 100)
    if before == data:
        return Step(step, operation, "same", (), using)
    write_resource(change, Name("addons", f"{addon}/{step}"), data)
    if before is None:
        return Step(step, operation, "made", (), using)
    return Step(step, operation, "changed", tuple(compare(before, data)), using)


def _declare(change: Change, root: Mapping[str, Any]) -> None:
    """Declare the env variables that the settings name, as secrets."""
    config = root.get("config")
    declared = change.document("project.yaml").root.get("env") or {}
    for text in config.values() if isinstance(config, Mapping) else ():
        variable = env_name(str(text))
        if variable and variable not in declared:
            set_key(change, Name("", "project"), f"env.{variable}", "{ secret: true }")
