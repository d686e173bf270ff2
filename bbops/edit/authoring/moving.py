"""Rename, copy and remove resources, with everything that names them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from bbops.base.diagnostics import Place, suggest
from bbops.base.errors import BbopsError
from bbops.edit.authoring.changing import Change, set_key
from bbops.edit.authoring.naming import Name
from bbops.edit.authoring.references import Reference
from bbops.language.addons._base import kind as addon_kind
from bbops.source.yaml.document import load as load_document
from bbops.source.yaml.edit import Edit, replace_scalar, splice

_VERSION = re.compile(r"-v[0-9]+$")


def move(change: Change, old: Name, new: Name) -> None:
    """Rename a resource, or all below a folder, and rewrite every reference.

    Raises:
        BbopsError: it is not there, or something is in the way.
    """
    if old.folder != new.folder:
        raise BbopsError(f"'{old.file}' cannot become '{new.file}': the folder is its kind")
    if old.folder == "addons":
        _refuse_catalog(old, new)
    names = renamed(change, old, new)
    edits: dict[str, list[Edit]] = {}
    for file, reference in change.references():
        if reference.to in names:
            edits.setdefault(file, []).append(_renamed(reference, names[reference.to]))
    for file, each in edits.items():
        source = load_document(change.data(file)).source
        change.files[file] = splice(source, each).encode()
    for one, other in names.items():
        change.files[other.file], change.files[one.file] = change.data(one.file), None
        change.moved[one.file] = other.file
        if old.folder == "tables" and "renamedFrom" not in change.document(other.file).root:
            set_key(change, other, "renamedFrom", one.name)


def _refuse_catalog(old: Name, new: Name) -> None:
    """Only what is the project's own may have another name, and none that the catalog has."""
    for name in (old, new):
        addon = name.name.partition("/")[0]
        if addon_kind(addon) is not None:
            message = f"'{addon}' is an addon of the catalog, so its name cannot change"
            raise BbopsError(message, hint="give an addon of your own another name")
    if ("/" in old.name) != ("/" in new.name):
        raise BbopsError(f"'{old.file}' cannot become '{new.file}': one is a step of an addon")


def _renamed(reference: Reference, to: Name) -> Edit:
    name = to.name.replace("/", ".") if to.folder == "addons" else to.name
    return replace_scalar(reference.mark, name + reference.behind)


def renamed(change: Change, old: Name, new: Name) -> Mapping[Name, Name]:
    """Return what becomes what: one resource, or each below a folder.

    Raises:
        BbopsError: there is nothing of that name, or something of the new one.
    """
    is_whole = old.folder == "addons" and "/" not in old.name  # with the steps below it
    found = {old: new} if change.exists(old) and not is_whole else {
        one: Name(new.folder, new.name + one.name.removeprefix(old.name))
        for one in change.names()
        if one.folder == old.folder and one.name.startswith(f"{old.name}/")
    }  # fmt: skip
    if is_whole and change.exists(old):
        found[old] = new
    if not found:
        raise missing(change, old)
    for other in found.values():
        if change.exists(other):
            raise BbopsError(f"there is a '{other.file}' already")
    return found


def missing(change: Change, name: Name) -> BbopsError:
    """Return the complaint about a resource that is not there."""
    known = [one.name for one in change.names() if one.folder == name.folder]
    return BbopsError(f"there is no '{name.file}'", hint=suggest(name.name, known))


def remove(change: Change, name: Name) -> list[Place]:
    """Remove a resource and return the places that still name it.

    Raises:
        BbopsError: it is not there.
    """
    if not change.exists(name):
        raise missing(change, name)
    change.files[name.file] = None
    found = []
    for file, reference in change.references():
        if reference.to == name and file != name.file:
            found.append(Place(file, reference.mark.line, reference.mark.column))
    return sorted(found)


def copy(change: Change, old: Name, new: Name) -> list[Name]:
    """Copy a resource; a channel takes copies of its endpoints along. Return what was made.

    A channel whose name ends with a version gets it in its path too: `-v2` for `-v1`.

    Raises:
        BbopsError: it is not there, or something is in the way.
    """
    if old.folder != new.folder:
        raise BbopsError(f"'{old.file}' cannot become '{new.file}': the folder is its kind")
    if not change.exists(old):
        raise missing(change, old)
    if change.exists(new):
        raise BbopsError(f"there is a '{new.file}' already")
    change.files[new.file] = change.data(old.file)
    return [new, *(_copy_endpoints(change, old, new) if old.folder == "channels" else ())]


def _copy_endpoints(change: Change, old: Name, new: Name) -> list[Name]:
    _set_version(change, old, new)
    made = []
    for file, reference in list(change.references()):
        if reference.to != old or not file.startswith("endpoints/"):
            continue
        source = load_document(change.data(file)).source
        name = file.removeprefix("endpoints/").removesuffix(".yaml")
        inner = name.removeprefix(f"{old.name}/")
        to = Name("endpoints", f"{new.name}/{inner}")
        if change.exists(to):
            raise BbopsError(f"there is a '{to.file}' already")
        change.files[to.file] = splice(source, [_renamed(reference, new)]).encode()
        made.append(to)
    return made


def _set_version(change: Change, old: Name, new: Name) -> None:
    """Put the version of the new name into the path and title, where the old one's stands."""
    before, after = _VERSION.search(old.name), _VERSION.search(new.name)
    if not before or not after:
        return
    root = change.document(new.file).root
    for key, sign in (("basePath", "/"), ("name", " ")):
        text = str(root.get(key, ""))
        words = text.split(sign)
        if before[0][1:] in words:
            at = len(words) - 1 - words[::-1].index(before[0][1:])
            words[at] = after[0][1:]
            set_key(change, new, key, sign.join(words))
