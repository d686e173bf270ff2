"""A project that is open in an editor: its files, their content and its diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bbops.base.diagnostics import Diagnostic
from bbops.base.model import Model
from bbops.compiler.check import Cache, CheckedProject, validate
from bbops.compiler.check._supported import needs_base
from bbops.language.loading.load import kinds, model_of
from bbops.source.git.comparing import find_base
from bbops.source.tree import BlobId, Entry, FilePath, FolderTree, Tree, blob_id, is_local, is_safe
from bbops.source.yaml.document import Document
from bbops.source.yaml.document import load as load_document


@dataclass(slots=True)
class EditorProject:
    """A project that is open in an editor.

    Attributes:
        published: the diagnostics that the editor shows, by file.
        is_stale: a file has changed since `refresh`.
        base: the committed project, read when a check first needs it; then `has_base` is true.
    """

    root: Path
    files: Overlay
    cache: Cache = field(default_factory=Cache)
    published: dict[str, list[Diagnostic]] = field(default_factory=dict)
    is_stale: bool = True
    base: Tree | None = None
    has_base: bool = False

    @classmethod
    def at(cls, root: Path) -> EditorProject:
        """Return a project that has not been read yet."""
        return cls(root, Overlay(root))

    @property
    def project(self) -> CheckedProject | None:
        """The project as it was last read, without the resources that cannot be read."""
        return self.cache.project

    def refresh(self) -> dict[str, list[Diagnostic]]:
        """Read changed files, check the project, and return the diagnostics by file."""
        _, diagnostics = validate(self.files, self.cache)
        if needs_base(diagnostics):
            if not self.has_base:
                self.base, self.has_base = find_base(self.root), True
            _, diagnostics = validate(self.files, self.cache, base=self.base)
        self.is_stale = False
        by_file: dict[str, list[Diagnostic]] = {}
        for diagnostic in diagnostics:
            by_file.setdefault(diagnostic.place.file, []).append(diagnostic)
        return by_file

    def current(self) -> CheckedProject | None:
        """Return the project with all edits."""
        if self.is_stale:
            self.refresh()
        return self.project

    def source(self, path: str) -> str:
        """Return the text of a file, empty if it cannot be read."""
        text = self.files.text(path)
        return self.document(path).source if text is None else text

    def document(self, path: str) -> Document:
        """Return the parsed document of a file."""
        entry = next((item for item in self.files.entries() if item.path == path), None)
        cached = self.cache.files.documents.get(entry.blob) if entry else None
        if cached is not None:
            return cached
        blob = entry.blob if entry else BlobId("")
        return load_document(self.files.read([blob]).get(blob, b""))


def kind_of(path: str, root: object = None) -> tuple[str, str, type[Model]] | None:
    """Return (folder, name, model) of a resource's file by its content; None for other files."""
    if path == "project.yaml":
        return "", "project", kinds()[""]
    folder, _, rest = path.partition("/")
    name = rest.removesuffix(".yaml")
    if name == rest or folder not in kinds():
        return None
    return folder, name, model_of(folder, name, root)


class Overlay:
    """A Tree with the text of open documents, saved or not."""

    revision = "editor"

    def __init__(self, root: Path) -> None:
        self._folder = FolderTree(root)
        self._open: dict[str, tuple[Entry, bytes]] = {}

    def put(self, path: str, text: str) -> None:
        """Set the text of an open document."""
        data = text.encode(errors="replace")
        kind = "file" if is_safe(path) else "other"
        self._open[path] = Entry(FilePath(path), blob_id(data), len(data), kind), data

    def drop(self, path: str) -> None:
        """Close a document; its file on disk counts again."""
        self._open.pop(path, None)

    def text(self, path: str) -> str | None:
        """Return the text of an open document."""
        document = self._open.get(path)
        return document[1].decode() if document else None

    def entries(self) -> Sequence[Entry]:
        """Return every file, sorted by path."""
        files = {entry.path: entry for entry in self._folder.entries()}
        files |= {entry.path: entry for entry, _ in self._open.values() if not is_local(entry.path)}
        return [files[path] for path in sorted(files)]

    def read(self, blobs: Sequence[BlobId]) -> dict[BlobId, bytes]:
        """Return the content of blobs that `entries` listed."""
        open_blobs = {entry.blob: data for entry, data in self._open.values()}
        saved = self._folder.read([blob for blob in blobs if blob not in open_blobs])
        return saved | {blob: open_blobs[blob] for blob in blobs if blob in open_blobs}
