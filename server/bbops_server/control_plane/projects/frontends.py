"""Publish a frontend on its own: what `bbops frontend` asks."""

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
from bbops.interfaces.answers import FrontendResult
from bbops.source.tree import is_safe
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.routes import PERMISSION, read
from bbops_server.control_plane.web.visit import Here, Visit
from bbops_server.publish.projects.protocols import FrontendSource

MOST_SENT: Final = 64 << 20
MOST_BYTES: Final = 256 << 20
MOST_FILES: Final = 10_000
LARGEST_BYTES: Final = 32 << 20


@read("/api/projects/{name:str}/frontends", Permission.READ_PROJECT)
async def list_frontends(visit: Here, name: FromPath[str]) -> list[dict[str, Any]]:
    """The frontends that were published on their own, newest first."""
    try:
        return await _find(visit, name).list()
    except BbopsError as error:
        raise refuse(error) from None


@post(
    "/api/projects/{name:str}/frontends", status_code=201, request_max_body_size=MOST_SENT,
    opt={PERMISSION: Permission.PUBLISH_FRONTEND},
)  # fmt: skip
async def publish_frontend(
    visit: Here, name: FromPath[str],
    message: Annotated[str, QueryParameter(max_length=200)] = "Publish the frontend",
) -> FrontendResult:  # fmt: skip
    """Publish the files of a zip archive, the body; answers when they are live."""
    found = _find(visit, name)
    data = await visit.request.body()
    try:
        with _unpacked(await asyncio.to_thread(_read, data)) as (folder, paths):
            done = await found.publish(folder, paths, who=visit.caller.email, subject=message)
    except BbopsError as error:
        await visit.note("publish frontend", object=name, outcome="refused")
        raise refuse(error) from None
    await visit.note("publish frontend", object=f"{name} {done['version']}")
    return FrontendResult(**done)


def _find(visit: Visit, name: str) -> FrontendSource:
    found = visit.control.status.frontends(name)
    if found is None:
        raise NotFoundException(f"there is no project '{name}'")
    return found


@contextmanager
def _unpacked(files: dict[str, bytes]) -> Iterator[tuple[Path, list[str]]]:
    """Write files into a folder that is gone at the end."""
    with tempfile.TemporaryDirectory(prefix="bbops-frontend-") as temporary:
        folder = Path(temporary)
        for path, data in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
        yield folder, list(files)


def _read(data: bytes) -> dict[str, bytes]:
    """Return the files of an archive.

    Raises:
        ClientException: it is none, or holds what no frontend may.
    """
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            every = [one for one in archive.infolist() if not one.is_dir()]
            _check(every)
            return {one.filename: archive.read(one) for one in every}
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, OSError):
        raise ClientException("the body is not a readable zip archive") from None


def _check(every: list[zipfile.ZipInfo]) -> None:
    """Refuse what is too much, before any of it is unpacked."""
    names = [one.filename for one in every]
    if not every:
        raise ClientException("the archive has no files")
    if len(every) > MOST_FILES or sum(one.file_size for one in every) > MOST_BYTES:
        raise ClientException(
            f"a frontend has at most {MOST_FILES:,} files and {MOST_BYTES:,} bytes"
        )
    if len(set(map(str.lower, names))) < len(names):
        raise ClientException("the archive has two files with the same name")
    for one in every:
        if not is_safe(one.filename) or '"' in one.filename or len(one.filename) > 400:
            raise ClientException("the archive has a file whose name is not allowed")
        if one.file_size > LARGEST_BYTES:
            raise ClientException(f"'{one.filename}' has more than {LARGEST_BYTES:,} bytes")


ROUTES = (list_frontends, publish_frontend)
