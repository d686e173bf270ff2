"""Turn the changes of an agent into new file contents; comments are kept where possible."""

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
from bbops.edit.authoring.moving import copy, move
from bbops.edit.authoring.naming import Name
from bbops.interfaces.mcp.drafting.files import TEXT, ResourceFiles, delete_in, put_in, rename_in
from bbops.interfaces.mcp.drafting.serialization import as_json
from bbops.interfaces.mcp.models import DOC, SETTINGS, DraftChange
from bbops.interfaces.mcp.refs import Ref, near, parse_ref
from bbops.interfaces.mcp.tool import NextCall, ToolError
from bbops.source.tree import Tree
from bbops.source.yaml.document import MAX_BYTES
from bbops.source.yaml.format import read_source
from bbops.source.yaml.merge import Unwritable, merge

MAX_FILES: Final = 2_000
MAX_BYTES_CHANGED: Final = 8 << 20
"""The size limit of all files that a plan changes."""
MAX_DEPTH: Final = 60
_OF_COLUMN: Final = 2
"""The length of a column's path: `columns` and its name."""

Bytes = Mapping[str, bytes | None]
"""New content by path from the project's root; None deletes the file."""


def change_files(tree: Tree, changes: Sequence[DraftChange]) -> Bytes:
    """Return the changed files after all changes, in their order.

    Raises:
        Refused: a change cannot be made; the message has its number.
    """
    original, files = ResourceFiles(tree), dict[str, bytes | None]()
    for number, change in enumerate(changes, 1):
        ref = parse_ref(change.ref)
        _require_base(original, ref, change)
        current = ChangedTree(tree, files)
        try:
            files |= _OPERATIONS[change.op](current, ref, change)
        except BbopsError as error:
            raise ToolError(f"change {number}: {error.message}", hint=error.hint) from None
    before = {ref.file: data for ref, data in original.read(original.entries).items()}
    changed = {path: data for path, data in files.items() if before.get(path) != data}
    size = sum(len(data or b"") for data in changed.values())
    if len(changed) > MAX_FILES or size > MAX_BYTES_CHANGED:
        raise ToolError("the change is too large for one plan", hint="split it into several plans")
    return changed


def _require_base(files: ResourceFiles, ref: Ref, change: DraftChange) -> None:
    """Raises: Refused: the resource has changed since the agent read it."""
    digest = files.digest(ref)
    if change.base and change.base != digest:
        what = "was deleted" if digest is None else "has changed"
        raise ToolError(
            f"'{ref}' {what} since you read it",
            hint="read it again, and change its current content",
            next=(NextCall("context_read", {"refs": [str(ref)]}, "with the draft you build on"),),
        )  # fmt: skip


def _put(tree: Tree, ref: Ref, change: DraftChange) -> Bytes:
    if change.path and change.body:
        raise BbopsError(
            f"put '{ref}' has both a body and a path",
            hint="with a path, send 'value' instead of a body",
        )
    _require_shallow([change.body, change.value])
    if change.path:
        return _write_inside(tree, ref, lambda root: put_in(root, change.path, change.value))
    return _write(ref, ResourceFiles(tree).read([ref]).get(ref), change.body)


def _write_inside(tree: Tree, ref: Ref, change: Callable[[Any], Any]) -> Bytes:
    """Return the file of a resource with a changed entry."""
    _require_there(tree, ref)
    old = ResourceFiles(tree).read([ref]).get(ref, b"")
    document = read_source(old)
    if ref.kind == DOC or document.problems or not isinstance(document.root, dict):
        problems = document.problems[:1]
        why = "".join(f": line {problem.line}: {problem.message}" for problem in problems)
        hint = "put the whole resource, without a path"
        raise BbopsError(f"'{ref}' has no entries that can be changed separately{why}", hint=hint)
    new = change(document.root)
    if not new:
        hint = "delete it without a path, or put another body"
        raise BbopsError(f"this would remove everything from '{ref}'", hint=hint)
    return _write(ref, old, new)


def _write(ref: Ref, old: bytes | None, body: Mapping[str, Any]) -> Bytes:
    data = _document(body) if ref.kind == DOC else _resource(ref, old, body)
    if len(data) > MAX_BYTES:
        raise BbopsError(
            f"'{ref}' would have {len(data):,} bytes, at most {MAX_BYTES:,} are allowed"
        )
    return {ref.file: data}


def _document(body: Mapping[str, Any]) -> bytes:
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
        document = None  # the comments of an invalid file cannot be assigned to keys
    if old is not None and document and _is_same(as_json(document.root), body):
        return old
    try:
        return merge(document, body, order_in(ref.file, body)).encode()
    except Unwritable as error:
        raise BbopsError(f"the body of '{ref}' cannot be written: {error}") from None


def _is_same(value: Any, other: Any) -> bool:
    return json.dumps(value, sort_keys=True) == json.dumps(other, sort_keys=True)


def _delete(tree: Tree, ref: Ref, change: DraftChange) -> Bytes:
    if ref.kind == SETTINGS and not change.path:
        raise BbopsError("the settings of a project cannot be deleted")
    _require_there(tree, ref)
    if change.path:
        return _write_inside(tree, ref, lambda root: delete_in(root, change.path))
    return {ref.file: None}


def _rename(tree: Tree, ref: Ref, change: DraftChange) -> Bytes:
    _require_there(tree, ref)
    if change.path:
        is_column = ref.kind == "table" and change.path[0] == "columns"
        if is_column and len(change.path) == _OF_COLUMN:
            authored = Authored(Folder(Path(), tree))
            column = Name(ref.folder, ref.name), str(change.path[1])
            rename_column(authored, *column, change.to)
            return authored.files
        return _write_inside(tree, ref, lambda root: rename_in(root, change.path, change.to))
    to = _parse_name(ref, change.to)
    if ref.kind == DOC:
        data = ResourceFiles(tree).read([ref]).get(ref)
        return {ref.file: None, to.file: data}
    authored = Authored(Folder(Path(), tree))
    move(authored, Name(ref.folder, ref.name), Name(to.folder, to.name))
    return authored.files


def _copy(tree: Tree, ref: Ref, change: DraftChange) -> Bytes:
    """Return the copied files, as `bbops copy` writes them."""
    _require_there(tree, ref)
    if change.path or change.body or change.value is not None:
        hint = "change the copy with a put after it"
        raise BbopsError(f"copy '{ref}' only has 'ref' and 'to'", hint=hint)
    to = _parse_name(ref, change.to)
    if to in ResourceFiles(tree).entries:
        raise BbopsError(f"'{to}' already exists", hint="choose another name in 'to'")
    if ref.kind == DOC:
        return {to.file: ResourceFiles(tree).read([ref]).get(ref)}
    authored = Authored(Folder(Path(), tree))
    copy(authored, Name(ref.folder, ref.name), Name(to.folder, to.name))
    return authored.files


def _parse_name(ref: Ref, to: str) -> Ref:
    """Return the ref of the same kind that a change names in `to`."""
    if ref.kind == SETTINGS:
        raise BbopsError("the settings have no name")
    return parse_ref(to if to.startswith(f"{ref.kind}/") else f"{ref.kind}/{to}")


def _require_there(tree: Tree, ref: Ref) -> None:
    files = ResourceFiles(tree)
    if ref not in files.entries:
        raise BbopsError(f"there is no '{ref}'", hint=near(str(ref), files.entries))


def _require_shallow(value: Any, depth: int = 0) -> None:
    if depth > MAX_DEPTH:
        raise BbopsError(f"the body is more than {MAX_DEPTH} levels deep")
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            _require_shallow(item, depth + 1)


_OPERATIONS: Final = {"put": _put, "delete": _delete, "rename": _rename, "copy": _copy}
