"""One project as an editor has it open: its files, what they say, what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from bbops.base.diagnostics import Diagnostic
from bbops.base.model import Model
from bbops.build.check import Cache, CheckedProject, validate
from bbops.build.check._supported import needs_base
from bbops.interfaces.lsp.documents import Overlay
from bbops.language.loading.load import kinds, model_of
from bbops.source.git.base import find_base
from bbops.source.tree import BlobId, Tree
from bbops.source.yaml.document import Document
from bbops.source.yaml.document import load as load_document


@dataclass(slots=True)
class Folder:
    """A project's root.

    Attributes:
        said: the findings that the editor shows, by file.
        is_stale: a file has changed since `refresh`.
        base: what its repository held when somebody needed to know, so that `has_base`.
    """

    root: Path
    files: Overlay
    cache: Cache = field(default_factory=Cache)
    said: dict[str, list[Diagnostic]] = field(default_factory=dict)
    is_stale: bool = True
    base: Tree | None = None
    has_base: bool = False

    @classmethod
    def at(cls, root: Path) -> Folder:
        """Return a folder that was not read yet."""
        return cls(root, Overlay(root))

    @property
    def project(self) -> CheckedProject | None:
        """The project as it could be read last; what cannot be read now is missing in it."""
        return self.cache.project

    def refresh(self) -> dict[str, list[Diagnostic]]:
        """Read what changed, check the project, and return the findings by file."""
        _, found = validate(self.files, self.cache)
        if needs_base(found):
            if not self.has_base:
                self.base, self.has_base = find_base(self.root), True
            _, found = validate(self.files, self.cache, base=self.base)
        self.is_stale = False
        by_file: dict[str, list[Diagnostic]] = {}
        for one in found:
            by_file.setdefault(one.place.file, []).append(one)
        return by_file

    def current(self) -> CheckedProject | None:
        """Return the project with every edit in it."""
        if self.is_stale:
            self.refresh()
        return self.project

    def source(self, path: str) -> str:
        """Return the text of a file, empty where it cannot be read."""
        text = self.files.text(path)
        return self.document(path).source if text is None else text

    def document(self, path: str) -> Document:
        """Return what a file says."""
        entry = next((one for one in self.files.entries() if one.path == path), None)
        known = self.cache.files.documents.get(entry.blob) if entry else None
        if known is not None:
            return known
        blob = entry.blob if entry else BlobId("")
        return load_document(self.files.read([blob]).get(blob, b""))


def kind_of(path: str, root: object = None) -> tuple[str, str, type[Model]] | None:
    """Return (folder, name, model) of a resource's file, by what is in it; None for others."""
    if path == "project.yaml":
        return "", "project", kinds()[""]
    folder, _, rest = path.partition("/")
    name = rest.removesuffix(".yaml")
    if name == rest or folder not in kinds():
        return None
    return folder, name, model_of(folder, name, root)
