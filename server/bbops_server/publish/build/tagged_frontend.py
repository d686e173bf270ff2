"""Frontends that are tagged separately from a project's commits; the newest is served."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from bbops.base.errors import ServerError
from bbops.compiler.check._files import check_published, find_files, is_pointer, may_be_pointer
from bbops.compiler.compile.release import Built
from bbops.language.project import Project
from bbops.source.tree import Tree
from bbops_server.process.messages.builds import PublishFrontend, PublishFrontendAnswer
from bbops_server.publish.build.sources import OpenSources, SourceFields

_PROJECT: Final = "project.yaml"


def find_tagged(
    sources: OpenSources, built: Built, tree: Tree, source: SourceFields
) -> Tree | None:
    """Return the files of a separately tagged frontend; None if the commit has its own.

    Raises:
        GitError: the repository cannot be read.
    """
    settings = built.project.settings.model.frontend if built.project else None
    if settings is None or source["kind"] != "git" or any(find_files(tree, settings.directory)):
        return None
    return sources.newest_frontend(source)


def check_tagged(built: Built, frontend: Tree) -> Built:
    """Return a build, without its project if the tagged files exceed the limits.

    Raises:
        GitError: the files cannot be listed.
        ServerError: they are the files of a project, which would become public.
    """
    if built.project is None:
        return built
    name = frontend.revision.partition("@")[0]
    if any(entry.path == _PROJECT for entry in frontend.entries()):
        raise ServerError(
            f"tag '{name}' holds a project, expected only built files",
            hint="tag a commit of the built files, with the next number",
        )
    wrong = tuple(check_published(built.project, frontend, name))
    if not wrong:
        return built
    return replace(built, project=None, diagnostics=(*built.diagnostics, *wrong))


def publish(
    sources: OpenSources, project: Project, request: PublishFrontend
) -> PublishFrontendAnswer:
    """Tag files as the next frontend of a project, if it would be served.

    Args:
        sources: the open repositories.
        project: the project of the request's `source`.
        request: the files to publish.

    Raises:
        ServerError: the project has no frontend, its commits have the files, or a file is a
            Git LFS pointer.
    """
    settings = project.settings.model.frontend
    if settings is None:
        raise ServerError("project.yaml names no frontend", hint="write 'frontend: {}' there")
    tree, _ = sources.open(request.source)
    if any(find_files(tree, settings.directory)):
        raise ServerError(
            f"'{settings.directory}' is in the project's commits, which publish it",
            hint="commit the new files, or remove the folder from git",
        )
    _refuse_pointers(Path(request.folder), request.paths)
    return sources.publish_frontend(request)


def _refuse_pointers(folder: Path, paths: Sequence[str]) -> None:
    """Reject Git LFS pointers. Raises: ServerError: a file is one."""
    for path in paths:
        file = folder / path
        if may_be_pointer(file.stat().st_size) and is_pointer(file.read_bytes()):
            raise ServerError(
                f"'{path}' is a Git LFS pointer, which would be published instead of its content",
                hint="run 'git lfs pull', build the frontend, and publish it again",
            )
