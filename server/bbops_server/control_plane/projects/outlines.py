"""The outline of a project: its resources, their files, and its variables."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from litestar.exceptions import NotFoundException
from litestar.params import FromPath, QueryParameter

from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.projects.visited_project import DRAFT, PROJECT
from bbops_server.control_plane.web.outline_page import read_project_file
from bbops_server.control_plane.web.outlines import CommitOutline
from bbops_server.control_plane.web.routes import read
from bbops_server.control_plane.web.variables import VariableStatus, find_variables
from bbops_server.control_plane.web.visit import Here

MAX_PATH: Final = 1_000
Path = Annotated[str, QueryParameter(min_length=1, max_length=MAX_PATH)]


class ProjectFile(msgspec.Struct, frozen=True):
    """A file of a project."""

    path: str
    text: str


@read(f"{PROJECT}/outline", Permission.READ_PROJECT)
async def read_outline(visit: Here, name: FromPath[str]) -> CommitOutline:
    """The resources of the live commit with their relations, or the errors of the commit."""
    return await visit.control.outlines.find(name)


@read(f"{DRAFT}/outline", Permission.READ_PROJECT)
async def read_draft_outline(
    visit: Here, name: FromPath[str], slug: FromPath[str]
) -> CommitOutline:
    """The resources of a draft's newest commit, as `GET /api/projects/{name}/outline`."""
    return await visit.control.outlines.find(name, _slug(visit, name, slug))


@read(f"{PROJECT}/file", Permission.READ_PROJECT)
async def read_file(visit: Here, name: FromPath[str], path: Path) -> ProjectFile:
    """The text of a file that the outline of the live commit names, of at most 1 MB."""
    return ProjectFile(path, await _read(visit, name, "", path))


@read(f"{DRAFT}/file", Permission.READ_PROJECT)
async def read_draft_file(
    visit: Here, name: FromPath[str], slug: FromPath[str], path: Path
) -> ProjectFile:
    """The text of a file of a draft, as `GET /api/projects/{name}/file`."""
    return ProjectFile(path, await _read(visit, name, _slug(visit, name, slug), path))


@read(f"{PROJECT}/variables", Permission.READ_PROJECT)
async def list_variables(visit: Here, name: FromPath[str]) -> list[VariableStatus]:
    """The declared variables, and whether each has a value on this server. Never a value."""
    return await find_variables(visit, name, "", (await visit.control.outlines.find(name)).outline)


@read(f"{DRAFT}/variables", Permission.READ_PROJECT)
async def list_draft_variables(
    visit: Here, name: FromPath[str], slug: FromPath[str]
) -> list[VariableStatus]:
    """The variables of a draft, as `GET /api/projects/{name}/variables`."""
    slug = _slug(visit, name, slug)
    found = await visit.control.outlines.find(name, slug)
    return await find_variables(visit, name, slug, found.outline)


def _slug(visit: Here, name: str, draft: str) -> str:
    return visit.control.outlines.find_slug(name, draft)


async def _read(visit: Here, name: str, slug: str, path: str) -> str:
    found = await visit.control.outlines.find(name, slug)
    text = await read_project_file(visit, name, slug, found.outline, path)
    if text is None:
        raise NotFoundException(f"the outline of project '{name}' names no file '{path}'")
    return text


ROUTES = (
    read_outline, read_draft_outline, read_file, read_draft_file, list_variables,
    list_draft_variables,
)  # fmt: skip
