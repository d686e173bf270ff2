"""The resources of a tree: their files, and what stands in them."""

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
"""The one key of a page of prose."""


class Files:
    """A tree's resources by what they are called."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        entries = [one for one in tree.entries() if one.kind == "file"]
        found = [(ref_of(one.path), one) for one in entries]
        self.entries: Mapping[Ref, Entry] = {ref: one for ref, one in found if ref is not None}

    def digest(self, ref: Ref) -> BlobId | None:
        """Return what names the bytes of a resource, None where there is none."""
        entry = self.entries.get(ref)
        return entry.blob if entry else None

    def read(self, refs: Iterable[Ref]) -> dict[Ref, bytes]:
        """Return the bytes of resources that are there, and no longer than any may be."""
        wanted = [ref for ref in refs if ref in self.entries
                  and self.entries[ref].size_bytes <= MAX_BYTES]  # fmt: skip
        texts = self.tree.read([self.entries[ref].blob for ref in wanted])
        blobs = {ref: self.entries[ref].blob for ref in wanted}
        return {ref: texts[blob] for ref, blob in blobs.items() if blob in texts}


def read_body(ref: Ref, data: bytes) -> tuple[dict[str, Any] | None, str]:
    """Return what stands in a file as JSON, or why that cannot be said."""
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
