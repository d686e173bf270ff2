"""Turn changes that an agent wants into the new bytes of files: comments stay where they can."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bbops.base.errors import BbopsError
from bbops.edit.authoring.changing import Change as Authored
from bbops.edit.authoring.changing import ChangedTree
from bbops.edit.authoring.columns import rename_column
from bbops.edit.authoring.folder import Folder
from bbops.edit.authoring.formatting import order_in
from bbops.edit.authoring.moving import move
from bbops.edit.authoring.naming import Name
from bbops.interfaces.mcp.drafting.files import TEXT, Files
from bbops.interfaces.mcp.drafting.inside import delete_in, put_in, rename_in
from bbops.interfaces.mcp.drafting.serialization import as_json
from bbops.interfaces.mcp.models import DOC, SETTINGS, Change
from bbops.interfaces.mcp.refs import Ref, near, parse_ref
from bbops.interfaces.mcp.tool import Call, Refused
from bbops.source.tree import Tree
from bbops.source.yaml.document import MAX_BYTES
from bbops.source.yaml.format import read_source
from bbops.source.yaml.merge import Unwritable, merge

MOST_FILES: Final = 2_000
MOST_BYTES: Final = 8 << 20
"""Of all files that one plan changes."""
DEEPEST: Final = 60
_OF_COLUMN: Final = 2
"""Entries of the path of a column: `columns` and its name."""

Bytes = Mapping[str, bytes | None]
"""New bytes by path from the project's root; None takes the file away."""


def change_files(tree: Tree, changes: Sequence[Change]) -> Bytes:
    """Return what changes of files, all of them in their order, or nothing.

    Raises:
        Refused: one cannot be made; says which.
    """
    given, files = Files(tree), dict[str, bytes | None]()
    for at, one in enumerate(changes):
        ref = parse_ref(one.ref)
        _require_base(given, ref, one)
        now = ChangedTree(tree, files)
        try:
            files |= _WAYS[one.op](now, ref, one)
        except BbopsError as error:
            raise Refused(f"change {at + 1}: {error.message}", hint=error.hint) from None
    was = {ref.file: data for ref, data in given.read(given.entries).items()}
    changed = {path: data for path, data in files.items() if was.get(path) != data}
    if len(changed) > MOST_FILES or sum(len(one or b"") for one in changed.values()) > MOST_BYTES:
        raise Refused("the change is too large for one plan", hint="split it into several plans")
    return changed


def _require_base(files: Files, ref: Ref, one: Change) -> None:
    """Raises: Refused: what was read is not what stands there now."""
    digest = files.digest(ref)
    if one.base and one.base != digest:
        what = "is gone" if digest is None else "has changed"
        raise Refused(
            f"'{ref}' {what} since you read it", hint="read it again, and change what is there now",
            next=(Call("context_read", {"refs": [str(ref)]}, "with the draft you build on"),),
        )  # fmt: skip


def _put(tree: Tree, ref: Ref, one: Change) -> Bytes:
    if one.path and one.body:
        raise BbopsError(
            f"put '{ref}' has both a body and a path",
            hint="with a path, send 'value' instead of a body",
        )
    _require_shallow([one.body, one.value])
    if one.path:
        return _write_inside(tree, ref, lambda root: put_in(root, one.path, one.value))
    return _write(ref, Files(tree).read([ref]).get(ref), one.body)


def _write_inside(tree: Tree, ref: Ref, change: Callable[[Any], Any]) -> Bytes:
    """Return the file of a resource one of whose entries is another."""
    _require_there(tree, ref)
    old = Files(tree).read([ref]).get(ref, b"")
    document = read_source(old)
    if ref.kind == DOC or document.problems or not isinstance(document.root, dict):
        why = "".join(f": line {one.line}: {one.message}" for one in document.problems[:1])
        hint = "put the whole resource, without a path"
        raise BbopsError(f"'{ref}' has no entries that can be changed separately{why}", hint=hint)
    new = change(document.root)
    if not new:
        hint = "delete it without a path, or put another body"
        raise BbopsError(f"this would remove everything from '{ref}'", hint=hint)
    return _write(ref, old, new)


def _write(ref: Ref, old: bytes | None, body: Mapping[str, Any]) -> Bytes:
    data = _prose(body) if ref.kind == DOC else _resource(ref, old, body)
    if len(data) > MAX_BYTES:
        raise BbopsError(f"'{ref}' would have {len(data):,} bytes, at most {MAX_BYTES:,} may be")
    return {ref.file: data}


def _prose(body: Mapping[str, Any]) -> bytes:
    text = body.get(TEXT)
    if not isinstance(text, str) or len(body) != 1:
        raise BbopsError("the body of a doc must be text", hint='{"text": "# Title\\n…"}')
    try:
        return (text.rstrip("\n") + "\n").encode()
    except UnicodeEncodeError:
        raise BbopsError("the text contains an unpaired surrogate") from None


def _resource(ref: Ref, old: bytes | None, body: Mapping[str, Any]) -> bytes:
    if not body:
        raise BbopsError(f"put '{ref}' needs a body", hint="the whole resource")
    document = read_source(old) if old is not None else None
    if document and (document.problems or not isinstance(document.root, dict) or not document.root):
        document = None  # nobody knows what its comments are about
    if old is not None and document and _is_same(as_json(document.root), body):
        return old
    try:
        return merge(document, body, order_in(ref.file, body)).encode()
    except Unwritable as error:
        raise BbopsError(f"the body of '{ref}' cannot be written: {error}") from None


def _is_same(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _delete(tree: Tree, ref: Ref, one: Change) -> Bytes:
    if ref.kind == SETTINGS and not one.path:
        raise BbopsError("the settings of a project cannot be deleted")
    _require_there(tree, ref)
    if one.path:
        return _write_inside(tree, ref, lambda root: delete_in(root, one.path))
    return {ref.file: None}


def _rename(tree: Tree, ref: Ref, one: Change) -> Bytes:
    _require_there(tree, ref)
    if one.path:
        if ref.kind == "table" and one.path[0] == "columns" and len(one.path) == _OF_COLUMN:
            change = Authored(Folder(Path(), tree))
            rename_column(change, Name(ref.folder, ref.name), str(one.path[1]), one.to)
            return change.files
        return _write_inside(tree, ref, lambda root: rename_in(root, one.path, one.to))
    if ref.kind == SETTINGS:
        raise BbopsError("the settings have no name")
    to = parse_ref(one.to if one.to.startswith(f"{ref.kind}/") else f"{ref.kind}/{one.to}")
    if ref.kind == DOC:
        data = Files(tree).read([ref]).get(ref)
        return {ref.file: None, to.file: data}
    change = Authored(Folder(Path(), tree))
    move(change, Name(ref.folder, ref.name), Name(to.folder, to.name))
    return change.files


def _require_there(tree: Tree, ref: Ref) -> None:
    files = Files(tree)
    if ref not in files.entries:
        raise BbopsError(f"there is no '{ref}'", hint=near(str(ref), files.entries))


def _require_shallow(value: Any, depth: int = 0) -> None:
    if depth > DEEPEST:
        raise BbopsError(f"the body is more than {DEEPEST} levels deep")
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            _require_shallow(one, depth + 1)


_WAYS: Final = {"put": _put, "delete": _delete, "rename": _rename}
