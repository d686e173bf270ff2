"""Planned changes of a project's files, and single keys that get a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bbops.base.diagnostics import Diagnostic
from bbops.base.errors import BbopsError, ProjectError
from bbops.compiler.check import validate
from bbops.edit.authoring.folder import Folder
from bbops.edit.authoring.formatting import format_file, is_resource
from bbops.edit.authoring.naming import Name
from bbops.edit.authoring.references import Reference, find_references
from bbops.source.tree import BlobId, Entry, FilePath, Tree, blob_id
from bbops.source.yaml.document import Document, load
from bbops.source.yaml.document import load as load_document
from bbops.source.yaml.edit import CannotEdit, Edit, remove_key, set_value, splice
from bbops.source.yaml.layout import may_be_plain, quoted


class ChangedTree:
    """A tree with some files changed; nothing is written."""

    revision = "changed"

    def __init__(self, tree: Tree, changes: Mapping[str, bytes | None]) -> None:
        self._tree = tree
        self._changes = changes
        self._blobs = {blob_id(data): data for data in changes.values() if data is not None}

    def entries(self) -> Sequence[Entry]:
        """Return every file as it would be, sorted by path."""
        kept = [one for one in self._tree.entries() if one.path not in self._changes]
        changed = [
            Entry(FilePath(path), blob_id(data), len(data), "file")
            for path, data in self._changes.items() if data is not None
        ]  # fmt: skip
        return sorted([*kept, *changed])

    def read(self, blobs: Sequence[BlobId]) -> dict[BlobId, bytes]:
        """Return the bytes behind each id."""
        ours = {blob: self._blobs[blob] for blob in blobs if blob in self._blobs}
        return {**self._tree.read([blob for blob in blobs if blob not in ours]), **ours}


@dataclass(slots=True)
class Change:
    """A change of a project under construction.

    Attributes:
        files: new bytes by path; None takes a file away.
        moved: where a file that stays the same resource went.
        warnings: those that the project has only after the change, once it was applied.
    """

    folder: Folder
    files: dict[str, bytes | None] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)
    warnings: list[Diagnostic] = field(default_factory=list)

    @classmethod
    def open(cls, root: Path) -> Change:
        """Return an empty change of the project in a folder."""
        return cls(Folder(root))

    def exists(self, name: Name) -> bool:
        """Return whether a resource is there, with what was changed so far."""
        if name.file in self.files:
            return self.files[name.file] is not None
        return name.file in self.folder.paths

    def names(self) -> list[Name]:
        """Return every resource that is there before the change."""
        paths = [path for path in self.folder.paths if is_resource(path) and "/" in path]
        return [Name(*path.removesuffix(".yaml").split("/", 1)) for path in paths]

    def data(self, path: str) -> bytes:
        """Return a file as it is after what was changed so far.

        Raises:
            BbopsError: it is not there.
        """
        changed = self.files.get(path)
        found = changed if changed is not None else self.folder.read([path]).get(path)
        if found is None:
            raise BbopsError(f"there is no '{path}'")
        return found

    def document(self, path: str) -> Document:
        """Return a file as values with their places.

        Raises:
            ProjectError: it is no YAML.
        """
        found = format_file(path, self.data(path))
        if found.diagnostics:
            raise ProjectError(found.diagnostics)
        return load_document(self.data(path))

    def edit(self, path: str, edits: Iterable[Edit]) -> None:
        """Edit a file. One that was in our style is so again."""
        data = self.data(path)
        was_formatted = format_file(path, data).text.encode() == data
        new = splice(load_document(data).source, edits).encode()
        formatted = format_file(path, new)
        if formatted.diagnostics:
            raise ProjectError(formatted.diagnostics)
        self.files[path] = formatted.text.encode() if was_formatted else new

    def references(self) -> Iterator[tuple[str, Reference]]:
        """Yield (file, reference) for every file of the project as it was, also broken ones."""
        paths = [path for path in self.folder.paths if is_resource(path)]
        for path, data in self.folder.read(paths).items():
            for reference in find_references(path, load_document(data)):
                yield path, reference

    # ---- the end
    def problems(self) -> list[Diagnostic]:
        """Return the errors that the project would have, and has not now."""
        tree = self.folder.tree
        _, before = validate(tree, base=tree)
        _, after = validate(ChangedTree(tree, self.files), base=tree)
        known = {_key(_as_moved(one, self.moved)) for one in before}
        new = [one for one in after if _key(one) not in known]
        self.warnings = [one for one in new if one.severity == "warning"]
        return [one for one in new if one.severity == "error"]

    def apply(self, *, force: bool = False) -> list[str]:
        """Write the change and return its files, sorted.

        Raises:
            ProjectError: it would break the project; nothing is written.
        """
        found = [] if force else self.problems()
        if found:
            raise ProjectError(found)
        self.folder.apply(self.files)
        return sorted(self.files)


def _as_moved(diagnostic: Diagnostic, moved: Mapping[str, str]) -> Diagnostic:
    """Return a diagnostic as it is after files have moved."""
    place = diagnostic.place
    return replace(diagnostic, place=replace(place, file=moved.get(place.file, place.file)))


def _key(diagnostic: Diagnostic) -> tuple[str, str, str]:
    """What stays of a finding when its lines move."""
    return diagnostic.place.file, diagnostic.code, diagnostic.message


# ---- Give single keys of a resource a value, as text of YAML


def set_key(change: Change, name: Name, key: str, text: str) -> None:
    """Set a key such as `docsVisibility` or `cors.maxAge`.

    Args:
        text: YAML on one line: `hidden`, `60`, `[GET, POST]`, `{ a: 1 }`; other text is quoted.

    Raises:
        BbopsError: the key cannot be set alone.
    """
    try:
        edit = set_value(change.document(name.file), tuple(key.split(".")), as_yaml(text))
    except CannotEdit as error:
        raise BbopsError(f"{name.file}: {error}") from error
    change.edit(name.file, [edit])


def unset_key(change: Change, name: Name, key: str) -> None:
    """Remove a key.

    Raises:
        BbopsError: it is not there, or cannot be removed alone.
    """
    try:
        edit = remove_key(change.document(name.file), tuple(key.split(".")))
    except CannotEdit as error:
        raise BbopsError(f"{name.file}: {error}") from error
    change.edit(name.file, [edit])


def as_yaml(text: str) -> str:
    """Return what was written on the command line as YAML that stands behind a key."""
    read = load(f"a: {text}\n".encode(errors="replace"))
    value: Any = read.root.get("a") if isinstance(read.root, dict) else None
    is_whole = not read.problems and isinstance(read.root, dict) and len(read.root) == 1
    if is_whole and (not isinstance(value, str) or value != text) and "#" not in text:
        return text
    return text if may_be_plain(text) else quoted(text)
