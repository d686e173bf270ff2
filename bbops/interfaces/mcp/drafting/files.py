"""The resources of a tree: their files and their content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

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
