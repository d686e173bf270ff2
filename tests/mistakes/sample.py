"""A right project: its files, what stands in them, and who speaks of which name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from bbops.language.loading.load import LoadCache, kinds, load
from bbops.language.project import Project
from bbops.language.resources.addon import addon_model
from bbops.source.tree import MemoryTree
from bbops.source.yaml.document import Document
from bbops.source.yaml.document import load as load_document
from tests.conftest import ROOT
from tests.mistakes.spots import Spot, spots

FOLDERS = (ROOT / "tests/samples/blog", ROOT / "tests/samples/saas", ROOT / "project-template")


@dataclass(frozen=True)
class Sample:
    """One right project."""

    name: str
    files: dict[str, str]
    project: Project
    documents: dict[str, Document] = field(repr=False)

    @cached_property
    def spots(self) -> tuple[Spot, ...]:
        """Every key and value of its resources."""
        return tuple(spot for file in self.files for spot in self._in(file))

    def _in(self, file: str) -> Iterator[Spot]:
        folder = file.partition("/")[0] if "/" in file else ""
        name = file.removeprefix("addons/").removesuffix(".yaml")
        model = addon_model(name) if folder == "addons" else kinds()[folder]
        yield from spots(file, model, self.documents[file].root)

    def with_word(self, word: str) -> tuple[str, ...]:
        """Return the files in which a word stands."""
        found = re.compile(rf"(?<![\w-]){re.escape(word)}(?!\w)")
        return tuple(file for file, text in self.files.items() if found.search(text))


def read_sample(folder: Path) -> Sample:
    """Read a project of this repository."""
    known = {kind for kind in kinds() if kind}
    files = {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*.yaml"))
    }
    files = {
        file: text for file, text in files.items()
        if file == "project.yaml" or file.partition("/")[0] in known
    }  # fmt: skip
    loaded = load(MemoryTree(files), LoadCache())
    assert loaded.project is not None
    documents = {file: load_document(text.encode()) for file, text in files.items()}
    return Sample(folder.name, files, loaded.project, documents)
