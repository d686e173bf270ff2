"""Compile the files of a folder as they are, beside what its repository holds."""

from __future__ import annotations

from pathlib import Path

from bbops.compiler.check._supported import needs_base
from bbops.compiler.compile.release import Built, Cache, build
from bbops.language.resources.project import Engine
from bbops.source.git.comparing import find_base
from bbops.source.tree import FolderTree


def build_here(folder: Path, *, database: Engine) -> Built:
    """Compile a folder; arguments as those of `bbops.compiler.compile.release.build`."""
    tree, cache = FolderTree(folder), Cache()
    built = build(tree, cache, database=database)
    if not needs_base(built.diagnostics):
        return built
    return build(tree, cache, database=database, base=find_base(folder))
