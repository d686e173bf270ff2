"""Turn a tree into a Project, or into diagnostics. Nothing in between.

Documents are cached by blob id, so a commit costs only the files it changes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import PurePosixPath
from typing import Any

from pydantic import ValidationError

from bbops.diagnostics import Diagnostic, Place, article, suggest
from bbops.explain import explain
from bbops.mend import mended
from bbops.model import Model
from bbops.names import BlobId
from bbops.project import Project, Resource
from bbops.registry import members
from bbops.resources.addon import addon_model
from bbops.tree import Entry, Tree
from bbops.yaml.document import Document, Map
from bbops.yaml.document import load as load_document

MAX_FILE_BYTES = 1 << 20
MAX_FILES = 20_000
_NOT_OURS = {"docs", "frontend"}
_FLAT = {"tables", "channels", "tasks", "triggers", "realtime", "agents", "addons"}
_SEGMENTS = {"tables": r"[a-z][a-z0-9_]*", "addons": r"[a-z][A-Za-z0-9]*"}
_STYLES = {"tables": "lower-case snake_case", "addons": "ids of addons, in camelCase"}


@dataclass(slots=True)
class Cache:
    """Documents and models of files seen before, by what is in them."""

    documents: dict[BlobId, Document] = field(default_factory=dict)
    models: dict[tuple[type[Model], BlobId], Model | ValidationError] = field(default_factory=dict)

    def forget(self, used: set[BlobId]) -> None:
        """Drop what no file of the newest tree has; keeps memory flat over many commits."""
        if len(self.documents) > 2 * len(used) + 100:
            self.documents = {b: d for b, d in self.documents.items() if b in used}
            self.models = {k: m for k, m in self.models.items() if k[1] in used}


@dataclass(frozen=True, slots=True)
class Loaded:
    """What reading a tree gave.

    With errors among the diagnostics the project holds what could be read, for more checks;
    it is None where `project.yaml` itself could not be.
    """

    project: Project | None
    diagnostics: tuple[Diagnostic, ...]


@cache
def kinds() -> Mapping[str, type[Model]]:
    """Return the resource kinds by their folder; the project's own is the empty one."""
    found: dict[str, type[Model]] = {}
    for name, module in members("bbops.resources"):
        model = vars(module)[name[0].upper() + name[1:]]
        found[model.folder] = model
    return found


def load(tree: Tree, cache: Cache | None = None) -> Loaded:
    """Read every resource of a tree.

    Returns:
        The project, and all diagnostics of files and keys. References between files are
        `bbops.check`'s. O(changed files) with a warm cache.
    """
    return _Loading(tree, cache or Cache()).load()


class _Loading:
    def __init__(self, tree: Tree, cache: Cache) -> None:
        self.tree, self.cache = tree, cache
        self.diagnostics: list[Diagnostic] = []
        self.broken: set[tuple[str, str]] = set()
        self.mended: set[str] = set()
        self.kinds = kinds()
        self.found: dict[str, dict[str, Resource[Any]]] = {folder: {} for folder in self.kinds}

    def wrong(self, place: Place, code: str, message: str, hint: str = "", **more: Any) -> None:
        self.diagnostics.append(Diagnostic(place, code, message, hint, **more))

    def load(self) -> Loaded:
        entries = list(self.tree.entries())
        if len(entries) > MAX_FILES:
            self.wrong(Place("project.yaml"), "too-many-files", f"more than {MAX_FILES} files")
            return self.result()
        files = [(entry, *place) for entry in entries if (place := self.sort(entry)) is not None]
        texts = self.read([entry for entry, _, _ in files])
        for entry, folder, name in files:
            if not self.resource(entry, folder, name, texts):
                self.broken.add((folder, name))
        settings = {"project.yaml", "project.yml"}
        if not self.found[""] and not any(d.place.file in settings for d in self.diagnostics):
            self.wrong(
                Place("project.yaml"), "no-project", "there is no project.yaml",
                "'bbops init DIR' makes a project; else check the folder or --path",
            )  # fmt: skip
        self.cache.forget({entry.blob for entry, _, _ in files})
        return self.result()

    def result(self) -> Loaded:
        diagnostics, found = tuple(sorted(self.diagnostics)), self.found
        if not found[""]:
            return Loaded(None, diagnostics)
        project = Project(
            found[""]["project"], broken=frozenset(self.broken), mended=frozenset(self.mended),
            tables=found["tables"], functions=found["functions"], endpoints=found["endpoints"],
            channels=found["channels"], tasks=found["tasks"], triggers=found["triggers"],
            realtime=found["realtime"], agents=found["agents"], addons=found["addons"],
            tests=found["tests"],
        )  # fmt: skip
        return Loaded(project, diagnostics)

    # ---- files
    def sort(self, entry: Entry) -> tuple[str, str] | None:
        """Return (folder, name) of a file that is a resource; report files out of place."""
        parts = PurePosixPath(entry.path).parts
        top = parts[0]
        is_ours = entry.path == "project.yaml" or (len(parts) > 1 and top in self.kinds)
        if not is_ours:
            self.report_stray(entry, top, len(parts))
            return None
        if entry.kind != "file":
            self.wrong(
                Place(entry.path), "not-a-file", f"a {entry.kind} is not read",
                "put the file itself into the repository",
            )  # fmt: skip
            return None
        if entry.path == "project.yaml":
            return "", "project"
        if not entry.path.endswith(".yaml"):
            if entry.path.endswith((".yml", ".YAML", ".json")):
                self.wrong(
                    Place(entry.path), "file-name", "resources end with '.yaml'", "rename it"
                )
                self.broken.add((top, entry.path.removeprefix(top + "/").rpartition(".")[0]))
            return None
        name = entry.path.removeprefix(top + "/").removesuffix(".yaml")
        return (top, name) if self.check_name(entry.path, top, name) else None

    def report_stray(self, entry: Entry, top: str, depth: int) -> None:
        if entry.kind == "other":
            self.wrong(Place(entry.path), "file-name", "this path is not allowed in a project")
        if not entry.path.endswith((".yaml", ".yml")) or top.startswith(".") or top in _NOT_OURS:
            return
        if entry.path == "project.yml":
            self.wrong(Place(entry.path), "file-name", "resources end with '.yaml'", "rename it")
        elif depth > 1:
            known = [*filter(None, self.kinds)]
            self.wrong(
                Place(entry.path), "unknown-folder", f"'{top}' is not a folder of resources",
                suggest(top, known) or "resources are in " + ", ".join(known),
                severity="warning",
            )  # fmt: skip

    def check_name(self, path: str, folder: str, name: str) -> bool:
        flat = folder in _FLAT
        segment = _SEGMENTS.get(folder, r"[a-z0-9]+(?:-[a-z0-9]+)*")
        pattern = segment if flat else f"{segment}(?:/{segment})*"
        if re.fullmatch(pattern, name) and len(name) <= 200:
            return True
        self.broken.add((folder, name))
        style = _STYLES.get(folder, "lower-case kebab-case")
        where = f", directly in {folder}/" if flat and "/" in name else ""
        self.wrong(
            Place(path), "file-name", f"'{name}' is not a name of {folder}",
            f"names are {style}{where}",
        )  # fmt: skip
        return False

    def read(self, entries: list[Entry]) -> Mapping[BlobId, bytes]:
        known = self.cache.documents
        small = [e.blob for e in entries if e.blob not in known and e.size_bytes <= MAX_FILE_BYTES]
        return self.tree.read(small)

    def resource(self, entry: Entry, folder: str, name: str, texts: Mapping[BlobId, bytes]) -> bool:
        """Read one file into `found`, and report what is wrong; return whether it could be read."""
        if entry.size_bytes > MAX_FILE_BYTES:
            self.wrong(
                Place(entry.path), "yaml-too-large",
                f"the file has {entry.size_bytes:,} bytes, at most {MAX_FILE_BYTES:,} are read",
                "split it into several resources",
            )  # fmt: skip
            return False
        document = self.document(entry, texts)
        if document is None:  # it vanished between listing and reading
            return False
        for p in document.problems:
            self.wrong(Place(entry.path, p.line, p.column), p.code, p.message, p.hint)
        if document.problems and document.root is None:
            return False
        kind = addon_model(name) if folder == "addons" else self.kinds[folder]
        if not isinstance(document.root, Map):
            self.wrong(
                Place(entry.path), "not-a-map", f"{article(kind.__name__.lower())} is a map of keys"
            )
            return False
        model: Any = self.model(kind, entry.blob, document)
        if document.problems or isinstance(model, ValidationError):
            self.mended.add(entry.path)
        if isinstance(model, ValidationError):
            if not document.problems:
                self.diagnostics += explain(entry.path, document, kind, model)
            model = mended(kind, document.root, model)
            if model is None:
                return False
        resource = Resource(kind.__name__.lower(), name, entry.path, entry.blob, model, document)
        self.found[folder][name] = resource
        return True

    def document(self, entry: Entry, texts: Mapping[BlobId, bytes]) -> Document | None:
        cached = self.cache.documents.get(entry.blob)
        if cached is None and entry.blob in texts:
            cached = self.cache.documents[entry.blob] = load_document(texts[entry.blob])
        return cached

    def model(self, kind: type[Model], blob: BlobId, document: Document) -> Model | ValidationError:
        key = (kind, blob)
        found = self.cache.models.get(key)
        if found is None:
            try:
                found = kind.model_validate(document.root)
            except ValidationError as error:
                found = error
            self.cache.models[key] = found
        return found
