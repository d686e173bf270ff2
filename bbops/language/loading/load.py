"""Turn a tree into a Project, or into diagnostics. Nothing in between.

The outcome of a file depends on that file alone, and is cached: a commit costs only its changes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import PurePosixPath
from typing import Any

from pydantic import ValidationError

from bbops.base.diagnostics import Diagnostic, Place, Severity, article, find_nearest
from bbops.base.model import Model
from bbops.base.registry import members
from bbops.language.loading.crud import Made, expand
from bbops.language.loading.explain import explain
from bbops.language.loading.likes import resolved, resolved_tables
from bbops.language.loading.recovery import repaired
from bbops.language.project import Project, Resource
from bbops.language.resources._crud import Crud, is_crud
from bbops.language.resources._kind import ANY, Kind, references_of
from bbops.language.resources.addon import addon_model
from bbops.source.tree import BlobId, Entry, FilePath, Tree
from bbops.source.yaml.document import Document, Map, Problem
from bbops.source.yaml.document import load as load_document

MAX_FILE_BYTES = 1 << 20
MAX_FILES = 20_000
MAX_PROJECT_BYTES = 16 << 20
"""The limit of all resources together: a server needs about 1.2 seconds to build each MiB."""
_NOT_OURS = {"docs", "frontend"}
_SETTINGS = {"project.yaml", "project.yml"}
_NO_PROJECT = Diagnostic(
    Place("project.yaml"), "no-project", "project.yaml is missing",
    "create a project with 'bbops init DIR'; else check the folder or --path",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of reading one file, independent of its tree.

    Attributes:
        folder: the folder of its kind; empty for the project itself.
        resource: the resource; None if the file has none, or cannot be read.
        found: the diagnostics of the file.
        broken: (folder, name) of an unreadable resource.
        repaired: the path of a file that was read with repairs.
    """

    folder: str = ""
    resource: Resource[Any] | None = None
    found: tuple[Diagnostic, ...] = ()
    broken: tuple[str, str] | None = None
    repaired: FilePath | None = None


@dataclass(slots=True)
class LoadCache:
    """The outcomes of known files, and their contents, whatever the name of the file."""

    outcomes: dict[Entry, Outcome] = field(default_factory=dict)
    documents: dict[BlobId, Document] = field(default_factory=dict)
    models: dict[tuple[type[Model], BlobId], Model | ValidationError] = field(default_factory=dict)
    made: Made = field(default_factory=Made)

    def forget(self, used: Collection[Entry]) -> None:
        """Drop the files that the newest tree lacks; keeps memory flat over many commits."""
        if len(self.outcomes) > 2 * len(used) + 100:
            entries, blobs = set(used), {entry.blob for entry in used}
            self.outcomes = {e: outcome for e, outcome in self.outcomes.items() if e in entries}
            self.documents = {b: d for b, d in self.documents.items() if b in blobs}
            self.models = {k: m for k, m in self.models.items() if k[1] in blobs}


@dataclass(frozen=True, slots=True)
class Loaded:
    """A loaded tree.

    With errors among the diagnostics the project holds the readable resources, for more checks;
    without a readable `project.yaml` there is no project.
    """

    project: Project | None
    diagnostics: tuple[Diagnostic, ...]


@cache
def kinds() -> Mapping[str, type[Kind]]:
    """Return the resource kinds by their folder; the project itself has an empty one."""
    found: dict[str, type[Kind]] = {}
    for name, module in members("bbops.language.resources"):
        model = vars(module)[name[0].upper() + name[1:]]
        found[model.folder] = model
    return found


def model_of(folder: str, name: str, root: object) -> type[Kind]:
    """Return the model of a file of a kind's folder, by its name and its content."""
    if folder == "addons":
        return addon_model(name)
    return Crud if folder == "endpoints" and is_crud(root) else kinds()[folder]


@cache
def named_kinds() -> Mapping[str, type[Kind]]:
    """Return the kinds with named files by their folder, in the order of lists."""
    every = sorted(kinds().values(), key=lambda kind: (kind.rank, kind.folder))
    return {kind.folder: kind for kind in every if kind.folder}


@cache
def folder_of_key() -> Mapping[str, str]:
    """Return the folder of the names at a key, in files of any kind."""
    return {
        next(key for key in reversed(reference.keys) if key != ANY): reference.folder
        for kind in kinds().values() for reference in references_of(kind)
    }  # fmt: skip


def load(tree: Tree, cache: LoadCache | None = None) -> Loaded:
    """Read every resource of a tree.

    Returns:
        The project, and all diagnostics of files and keys. `bbops.compiler.check` checks references
        between files. O(changed files) with a warm cache, plus a look at each name.
    """
    cache, entries = cache or LoadCache(), tree.entries()
    if len(entries) > MAX_FILES:
        message = f"more than {MAX_FILES} files"
        return Loaded(None, (Diagnostic(Place("project.yaml"), "too-many-files", message),))
    if too_large := _find_too_large(entries):
        return Loaded(None, (too_large,))
    known = cache.outcomes
    new = [_File(entry, cache) for entry in entries if entry not in known]
    texts = tree.read([file.entry.blob for file in new if file.is_unread])
    read = {file.entry: file.read(texts) for file in new}
    loaded = _put_together((known.get(entry) or read[entry] for entry in entries), cache.made)
    loaded = replace(loaded, diagnostics=judge_strays(loaded, entries))
    # a file that vanished between listing and reading may be there next time
    known |= {file.entry: read[file.entry] for file in new if not file.is_gone}
    cache.forget(entries)
    return loaded


def _find_too_large(entries: Sequence[Entry]) -> Diagnostic | None:
    folders = tuple(f"{folder}/" for folder in kinds() if folder)
    size = sum(
        entry.size_bytes for entry in entries
        if entry.path.endswith(".yaml") and entry.path.startswith(folders)
    )  # fmt: skip
    if size <= MAX_PROJECT_BYTES:
        return None
    message = f"all resources have {size:,} bytes, at most {MAX_PROJECT_BYTES:,} are read"
    hint = "split it into several projects, or move data such as seed rows elsewhere"
    return Diagnostic(Place("project.yaml"), "yaml-too-large", message, hint)


def _put_together(outcomes: Iterable[Outcome], made: Made) -> Loaded:
    found: dict[str, dict[str, Resource[Any]]] = {folder: {} for folder in kinds()}
    wrong, broken, mended_files = list[Diagnostic](), set[tuple[str, str]](), set[str]()
    for outcome in outcomes:
        wrong += outcome.found
        if outcome.broken is not None:
            broken.add(outcome.broken)
        if outcome.repaired is not None:
            mended_files.add(outcome.repaired)
        if outcome.resource is not None:
            found[outcome.folder][outcome.resource.name] = outcome.resource
    settings = found[""].get("project")
    if settings is None:
        if not any(d.place.file in _SETTINGS for d in wrong):
            wrong.append(_NO_PROJECT)
        return Loaded(None, tuple(sorted(wrong)))
    found["tables"] = resolved_tables(found["tables"])
    tables = {name: table.model for name, table in found["tables"].items()}
    resources = {
        folder: {name: resolved(resource, tables) for name, resource in found[folder].items()}
        for folder in named_kinds()
    }
    cruds = {
        name: endpoint
        for name, endpoint in found["endpoints"].items()
        if isinstance(endpoint.model, Crud)
    }
    expanded = expand(cruds, found["tables"], mended_files, made)
    files = {
        name: endpoint for name, endpoint in resources["endpoints"].items() if name not in cruds
    }
    resources["endpoints"] = {**expanded.endpoints, **files}
    resources["functions"] = {**expanded.functions, **resources["functions"]}
    broken |= expanded.broken
    project = Project(settings, resources, frozenset(broken), frozenset(mended_files), cruds)
    return Loaded(project, tuple(sorted(wrong)))


STRAY = "unknown-folder"
_OWN = ("package.json", "project.yaml")
"""The files that mark a separate folder: a frontend's sources, another project."""


def judge_strays(loaded: Loaded, entries: Iterable[Entry]) -> tuple[Diagnostic, ...]:
    """Return the diagnostics, with each unknown folder once, and without separate folders.

    The folder of a frontend counts as separate, whatever its files.
    """
    if not any(diagnostic.code == STRAY for diagnostic in loaded.diagnostics):
        return loaded.diagnostics
    own = {
        entry.path.partition("/")[0] for entry in entries
        if "/" in entry.path and PurePosixPath(entry.path).name in _OWN
    }  # fmt: skip
    frontend = loaded.project.settings.model.frontend if loaded.project else None
    if frontend is not None:
        own.add(frontend.directory.partition("/")[0])
    kept, seen = list[Diagnostic](), own
    for diagnostic in loaded.diagnostics:
        top = diagnostic.place.file.partition("/")[0]
        if diagnostic.code != STRAY or top not in seen:
            kept.append(diagnostic)
        if diagnostic.code == STRAY:
            seen.add(top)
    return tuple(kept)


def _as_file(near: str) -> str:
    return f"{near}.yaml" if near == "project" else f"{near}/<name>.yaml"


class _File:
    """Reads one file, and collects all of its mistakes."""

    def __init__(self, entry: Entry, cache: LoadCache) -> None:
        self.entry, self.cache = entry, cache
        self.found: list[Diagnostic] = []
        self.broken: tuple[str, str] | None = None
        self.repaired: FilePath | None = None
        self.is_gone = False
        self.name = self._sort()

    def _wrong(self, code: str, message: str, hint: str = "", **more: Any) -> None:
        self.found.append(Diagnostic(Place(self.entry.path), code, message, hint, **more))

    @property
    def is_unread(self) -> bool:
        """Whether its bytes are needed: it is a resource, and they are not in the cache."""
        is_small = self.entry.size_bytes <= MAX_FILE_BYTES
        return self.name is not None and is_small and self.entry.blob not in self.cache.documents

    def read(self, texts: Mapping[BlobId, bytes]) -> Outcome:
        """Return the outcome; `texts` has the bytes if they are needed and still exist."""
        if self.name is None:
            return Outcome(found=tuple(self.found), broken=self.broken)
        folder, name = self.name
        resource = self._resource(folder, name, texts)
        broken = (folder, name) if resource is None else None
        return Outcome(folder, resource, tuple(self.found), broken, self.repaired)

    # ---- its name
    def _sort(self) -> tuple[str, str] | None:
        """Return (folder, name) of a resource's file; report a file that is out of place."""
        path = self.entry.path
        top, *below = PurePosixPath(path).parts
        if path != "project.yaml" and not (below and top in kinds()):
            self._report_stray(top, 1 + len(below))
            return None
        if self.entry.kind != "file":
            self._wrong(
                "not-a-file", f"a {self.entry.kind} is not read",
                "commit the file itself instead",
            )  # fmt: skip
            return None
        if path == "project.yaml":
            return "", "project"
        if not path.endswith(".yaml"):
            if path.endswith((".yml", ".YAML", ".json")):
                self._wrong("file-name", "resources end with '.yaml'", "rename it")
                self.broken = (top, path.removeprefix(top + "/").rpartition(".")[0])
            return None
        name = path.removeprefix(top + "/").removesuffix(".yaml")
        return (top, name) if self._check_name(top, name) else None

    def _report_stray(self, top: str, depth: int) -> None:
        path = self.entry.path
        if self.entry.kind == "other":
            self._wrong("file-name", "this path is not allowed in a project")
        if not path.endswith((".yaml", ".yml")) or top.startswith(".") or top in _NOT_OURS:
            return
        if path == "project.yml":
            self._wrong("file-name", "resources end with '.yaml'", "rename it")
        elif depth > 1:
            known = [*filter(None, kinds())]
            where = f"resources are in {', '.join(known)}; others may be in docs/ or .{top}/"
            self._wrong(
                STRAY, f"'{top}' is not a resource folder, so its YAML files are ignored",
                f"did you mean '{near}'?" if (near := find_nearest(top, known)) else where,
            )  # fmt: skip
        elif near := find_nearest(path.rpartition(".")[0], ["project", *filter(None, kinds())]):
            self._wrong(
                "file-name",
                f"'{path}' is not a resource, so it is ignored",
                f"did you mean '{_as_file(near)}'?",
            )

    def _check_name(self, folder: str, name: str) -> bool:
        kind = kinds()[folder]
        pattern = f"{kind.segment}(?:/{kind.segment})*" if kind.nests else kind.segment
        is_deep = 0 < kind.deepest <= name.count("/")
        if re.fullmatch(pattern, name) and len(name) <= 200 and not is_deep:
            return True
        self.broken = (folder, name)
        where = "" if kind.nests or "/" not in name else f", directly in {folder}/"
        self._wrong(
            "file-name", f"'{name}' is not a name of {folder}", f"names are {kind.style}{where}"
        )  # fmt: skip
        return False

    # ---- its content
    def _resource(
        self, folder: str, name: str, texts: Mapping[BlobId, bytes]
    ) -> Resource[Any] | None:
        if self.entry.size_bytes > MAX_FILE_BYTES:
            size = self.entry.size_bytes
            self._wrong(
                "yaml-too-large",
                f"the file has {size:,} bytes, at most {MAX_FILE_BYTES:,} are read",
                "split it into several resources",
            )
            return None
        document = self._document(texts)
        if document is None:
            self.is_gone = True
            return None
        self._report(document.problems)
        self._report(document.warnings, severity="warning")
        if document.problems and document.root is None:
            return None
        kind = model_of(folder, name, document.root)
        model = self._model(kind, document)
        if model is None:
            return None
        file, blob = self.entry.path, self.entry.blob
        return Resource(kind.id(), name, file, blob, model, document)

    def _report(self, problems: Sequence[Problem], severity: Severity = "error") -> None:
        for problem in problems:
            place = Place(self.entry.path, problem.line, problem.column)
            self.found.append(
                Diagnostic(place, problem.code, problem.message, problem.hint, severity)
            )

    def _document(self, texts: Mapping[BlobId, bytes]) -> Document | None:
        blob, known = self.entry.blob, self.cache.documents
        if blob not in known and blob in texts:
            known[blob] = load_document(texts[blob])
        return known.get(blob)

    def _model(self, kind: type[Kind], document: Document) -> Model | None:
        """Return the model of a document; with mistakes in it, a repaired one if possible."""
        if not isinstance(document.root, Map):
            self._wrong("not-a-map", f"{article(kind.id())} is a map of keys")
            return None
        model = self._validated(kind, document)
        if document.problems or isinstance(model, ValidationError):
            self.repaired = self.entry.path
        if isinstance(model, Model):
            return model
        if not document.problems:
            self.found += explain(self.entry.path, document, kind, model)
        return repaired(kind, document.root, model)

    def _validated(self, kind: type[Kind], document: Document) -> Model | ValidationError:
        key = (kind, self.entry.blob)
        found = self.cache.models.get(key)
        if found is None:
            try:
                found = kind.model_validate(document.root)
            except ValidationError as error:
                found = error
            self.cache.models[key] = found
        return found
