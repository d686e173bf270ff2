"""The resources of a tree: their files, their content, and changes of one entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from bbops.base.diagnostics import suggest
from bbops.base.errors import BbopsError
from bbops.interfaces.mcp.drafting.serialization import as_json
from bbops.interfaces.mcp.models import DOC
from bbops.interfaces.mcp.refs import Ref, ref_of
from bbops.source.tree import BlobId, Entry, Tree
from bbops.source.yaml.document import MAX_BYTES
from bbops.source.yaml.document import load as load_document

TEXT = "text"
"""The only key of a document's body."""


class ResourceFiles:
    """The resource files of a tree, by ref."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        entries = [entry for entry in tree.entries() if entry.kind == "file"]
        refs = [(ref_of(entry.path), entry) for entry in entries]
        self.entries: Mapping[Ref, Entry] = {ref: entry for ref, entry in refs if ref is not None}

    def digest(self, ref: Ref) -> BlobId | None:
        """Return the digest of a resource's file, None without one."""
        entry = self.entries.get(ref)
        return entry.blob if entry else None

    def read(self, refs: Iterable[Ref]) -> dict[Ref, bytes]:
        """Return the content of existing resources, except files above the size limit."""
        readable = [ref for ref in refs if ref in self.entries
                  and self.entries[ref].size_bytes <= MAX_BYTES]  # fmt: skip
        texts = self.tree.read([self.entries[ref].blob for ref in readable])
        blobs = {ref: self.entries[ref].blob for ref in readable}
        return {ref: texts[blob] for ref, blob in blobs.items() if blob in texts}


def read_body(ref: Ref, data: bytes) -> tuple[dict[str, Any] | None, str]:
    """Return the content of a file as JSON, or the reason why it cannot be read."""
    if ref.kind == DOC:
        try:
            return {TEXT: data.decode()}, ""
        except UnicodeDecodeError:
            return None, "the file is not UTF-8"
    document = load_document(data)
    if document.problems:
        first = document.problems[0]
        return None, f"line {first.line}: {first.message}"
    if not isinstance(document.root, dict):
        return None, "a resource is a map of keys"
    return as_json(document.root), ""


# ---- Change one entry of a resource's body, without changing other entries

Path = Sequence[str | int]


def put_in(root: Any, path: Path, value: Any) -> Any:
    """Return a body with a value at a path; missing maps on the path are created.

    Raises:
        BbopsError: a value on the path is not a map, or an index is out of range.
    """

    def put(parent: Any, last: str | int) -> Any:
        if isinstance(parent, list) and last == len(parent):
            return [*parent, value]
        if isinstance(parent, list):
            index = _index(parent, last, path)
            return [*parent[:index], value, *parent[index + 1 :]]
        return _map(parent, path) | {str(last): value}

    return _change(root, path, put, path)


def rename_in(root: Any, path: Path, to: str) -> Any:
    """Return a body with a renamed key, in the same position.

    Raises:
        BbopsError: the key does not exist, or the new name does.
    """

    def rename(parent: Any, last: str | int) -> Any:
        old = _key(_map(parent, path), last, path)
        if not to or (to in parent and to != old):
            hint = "another key there has this name" if to else "give the new name in 'to'"
            raise BbopsError(f"the key at {_shown(path)} cannot be '{to[:100]}'", hint=hint)
        return {to if key == old else key: value for key, value in parent.items()}

    return _change(root, path, rename, path)


def delete_in(root: Any, path: Path) -> Any:
    """Return a body without an entry. Raises: BbopsError: the entry does not exist."""

    def delete(parent: Any, last: str | int) -> Any:
        if isinstance(parent, list):
            index = _index(parent, last, path)
            return [*parent[:index], *parent[index + 1 :]]
        deleted = _key(_map(parent, path), last, path)
        return {key: value for key, value in parent.items() if key != deleted}

    return _change(root, path, delete, path)


def _change(node: Any, path: Path, change: Callable[[Any, str | int], Any], whole: Path) -> Any:
    """Return a copy with a changed entry at a path; the rest is shared."""
    first, *rest = path
    if not rest:
        return change(node, first)
    if isinstance(node, list):
        index = _index(node, first, whole)
        return [*node[:index], _change(node[index], rest, change, whole), *node[index + 1 :]]
    parent = _map(node, whole)
    return parent | {str(first): _change(parent.get(str(first)), rest, change, whole)}


def _map(node: Any, path: Path) -> dict[str, Any]:
    if node is not None and not isinstance(node, dict):
        kind = "a list" if isinstance(node, list) else "a value"
        raise BbopsError(
            f"the parent of the entry at {_shown(path)} is {kind}, not a map",
            hint="a key selects in a map, an index in a list; a value has no entries",
        )
    return dict(node or {})


def _key(node: dict[str, Any], key: str | int, path: Path) -> str:
    if str(key) not in node:
        raise BbopsError(f"nothing exists at {_shown(path)}", hint=suggest(str(key), node))
    return str(key)


def _index(node: list[Any], index: str | int, path: Path) -> int:
    if not isinstance(index, int) or not 0 <= index < len(node):
        raise BbopsError(
            f"a list on the path {_shown(path)} has {len(node)} entries, but not {index!r:.100}",
            hint=f"an index is a number from 0; a put at {len(node)} adds an entry",
        )
    return index


def _shown(path: Path) -> str:
    return f"'{'.'.join(map(str, path))[:200]}'"
