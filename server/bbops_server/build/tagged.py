"""The frontend of a commit that holds none: the newest that was tagged beside it."""

from __future__ import annotations

from dataclasses import replace

from bbops.check._frontend import check_published, find_files
from bbops.compile.release import Built
from bbops.tree import Tree
from bbops_server.build.sources import Source, Sources


def find_tagged(sources: Sources, built: Built, tree: Tree, source: Source) -> Tree | None:
    """Return the files that are served beside a release; None where its own commit has them.

    Raises:
        GitError: the repository cannot be read.
    """
    settings = built.project.settings.model.frontend if built.project else None
    if settings is None or source["kind"] != "git" or any(find_files(tree, settings.directory)):
        return None
    return sources.newest_frontend(source)


def check_tagged(built: Built, found: Tree) -> Built:
    """Return what was built, refused where the files that are tagged beside it are too large.

    Raises:
        GitError: the files cannot be listed.
    """
    if built.project is None:
        return built
    name = found.revision.partition("@")[0]
    wrong = tuple(check_published(built.project, found, name))
    if not wrong:
        return built
    return replace(built, project=None, diagnostics=(*built.diagnostics, *wrong))
