"""API to publish a frontend without the backend, for `bbops frontend`."""

from __future__ import annotations

import asyncio
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any, Final

from litestar import post
from litestar.exceptions import ClientException, NotFoundException
from litestar.params import FromPath, QueryParameter

from bbops.base.errors import BbopsError
from bbops.interfaces.answers import FrontendResult, LiveFrontend
from bbops.source.tree import is_safe
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.routes import PERMISSION, read
from bbops_server.control_plane.web.visit import Here, Visit
from bbops_server.publish.projects.frontends import ProjectFrontends

MAX_BODY_BYTES: Final = 64 << 20
MAX_TOTAL_BYTES: Final = 256 << 20
MAX_FILES: Final = 10_000
MAX_FILE_BYTES: Final = 32 << 20


@read("/api/projects/{name:str}/frontends", Permission.READ_PROJECT)
async def list_frontends(visit: Here, name: FromPath[str]) -> list[dict[str, Any]]:
    """Frontends that were published without the backend, newest first."""
    try:
        return await find_frontends(visit, name).list()
    except BbopsError as error:
        raise refuse(error) from None


@read("/api/projects/{name:str}/frontends/live", Permission.READ_PROJECT)
async def read_live_frontend(visit: Here, name: FromPath[str]) -> LiveFrontend:
    """The files of the live frontend, with their sizes."""
    found = await find_frontends(visit, name).live()
    if found is None:
        raise NotFoundException(f"project '{name}' has no live frontend")
    return found


@post(
    "/api/projects/{name:str}/frontends", status_code=201, request_max_body_size=MAX_BODY_BYTES,
    opt={PERMISSION: Permission.PUBLISH_FRONTEND},
)  # fmt: skip
async def publish_frontend(
    visit: Here, name: FromPath[str],
    message: Annotated[str, QueryParameter(max_length=200)] = "Publish the frontend",
) -> FrontendResult:  # fmt: skip
    """Publish the files of a zip archive, the body; responds when they are live."""
    frontends = find_frontends(visit, name)
    data = await visit.request.body()
    try:
        with _unpacked(await asyncio.to_thread(_read, data)) as (folder, paths):
            done = await frontends.publish(folder, paths, who=visit.caller.email, subject=message)
    except BbopsError as error:
        await visit.note("publish frontend", object=name, outcome="refused")
        raise refuse(error) from None
    await visit.note("publish frontend", object=f"{name} {done['version']}")
    return FrontendResult(**done)


def find_frontends(visit: Visit, name: str) -> ProjectFrontends:
    """Return the frontends of a project. Raises: NotFoundException: it does not exist."""
    frontends = visit.control.status.frontends(name)
    if frontends is None:
        raise NotFoundException(f"there is no project '{name}'")
    return frontends


@contextmanager
def _unpacked(files: dict[str, bytes]) -> Iterator[tuple[Path, list[str]]]:
    """Write files into a temporary folder, which is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="bbops-frontend-") as temporary:
        folder = Path(temporary)
        for path, data in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
        yield folder, list(files)


def _read(data: bytes) -> dict[str, bytes]:
    """Return the files of an archive.

    Raises:
        ClientException: it is not a zip archive, or has files that a frontend may not have.
    """
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
            _check(infos)
            return {info.filename: archive.read(info) for info in infos}
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, OSError):
        raise ClientException("the body is not a readable zip archive") from None


def _check(infos: list[zipfile.ZipInfo]) -> None:
    """Reject an archive with too many or too large files, before it is unpacked."""
    names = [info.filename for info in infos]
    if not infos:
        raise ClientException("the archive has no files")
    if len(infos) > MAX_FILES or sum(info.file_size for info in infos) > MAX_TOTAL_BYTES:
        raise ClientException(
            f"a frontend has at most {MAX_FILES:,} files and {MAX_TOTAL_BYTES:,} bytes"
        )
    if len(set(map(str.lower, names))) < len(names):
        raise ClientException("the archive has two files with the same name")
    for info in infos:
        if not is_safe(info.filename) or '"' in info.filename or len(info.filename) > 400:
            raise ClientException("the archive has a file whose name is not allowed")
        if info.file_size > MAX_FILE_BYTES:
            raise ClientException(f"'{info.filename}' has more than {MAX_FILE_BYTES:,} bytes")


ROUTES = (list_frontends, read_live_frontend, publish_frontend)
