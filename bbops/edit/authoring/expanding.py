"""Write the files that endpoints of a table stand for, so that they can be changed by hand."""

from __future__ import annotations

from bbops.base.errors import BbopsError
from bbops.base.model import plain
from bbops.compiler.check import validate
from bbops.edit.authoring.changing import Change, ChangedTree, set_key, unset_key
from bbops.edit.authoring.formatting import format_file, write_file
from bbops.edit.authoring.naming import Name
from bbops.language.loading.crud import Part, parts_of
from bbops.language.project import Resource
from bbops.language.resources._crud import OF_FUNCTION, Crud
from bbops.language.resources.endpoint import Endpoint
from bbops.language.resources.function import Function


def expand(change: Change, name: Name, action: str = "") -> None:
    """Write the function of one action, or the files of all of them in place of this one.

    Raises:
        BbopsError: the file is not about a table, or has no such action.
    """
    crud, parts = _parts(change, name)
    if not action:
        for part in parts:
            _write(change, part.endpoint)
            _write(change, part.function)
        change.files[name.file] = None
        return
    chosen = next((one for one in parts if one.action == action), None)
    if chosen is None:
        known = ", ".join(one.action for one in parts)
        raise BbopsError(f"{name.file} has no action '{action}'", hint=f"its actions: {known}")
    if chosen.function is None:
        hint = f"it is in functions/{chosen.model.function}.yaml"
        raise BbopsError(f"'{action}' has a function of its own already", hint=hint)
    _write(change, chosen.function)
    set_key(change, name, f"actions.{action}.function", chosen.name)
    for key in crud.document.root["actions"][action]:
        if key not in OF_FUNCTION:
            unset_key(change, name, f"actions.{action}.{key}")


def _parts(change: Change, name: Name) -> tuple[Resource[Crud], list[Part]]:
    project, found = validate(ChangedTree(change.folder.tree, change.files))
    crud = project.cruds.get(name.name) if project is not None else None
    if project is None:
        wrong = next(one for one in found if one.severity == "error")
        raise BbopsError("the project has errors", hint=f"first correct {wrong.place}")
    if name.folder != "endpoints" or crud is None:
        hint = "such files of 'endpoints/' have 'table' and 'actions'"
        raise BbopsError(f"{name.file} is not a file about a table", hint=hint)
    tables = {name: one.model for name, one in project.tables.items()}
    return crud, list(parts_of(crud, tables))


def _write(change: Change, made: Resource[Endpoint] | Resource[Function] | None) -> None:
    if made is None:
        return
    path = f"{made.kind}s/{made.name}.yaml"
    text = write_file(plain(made.document.root)).encode()
    change.files[path] = format_file(path, text).text.encode()
