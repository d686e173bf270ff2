"""Storage for the files of localStorage, and the live part of plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from bbops_server.process.forks import limits
from bbops_server.process.messages.projects import Bucket, FileStorage
from bbops_server.process.messages.proposals import WeighTables
from bbops_server.process.storage.archive import FOLDER
from bbops_server.publish.sources.context import PublishContext, count_jobs
from bbops_server.publish.sources.sources import FolderSource


def find_storage(project: str, at: PublishContext) -> FileStorage:
    """Return the storage of a project: a draft has its own folder, `bbops dev` uses the project's.

    Args:
        project: the project's own name.
        at: its context.
    """
    settings, root = at.plane.settings.files, str(at.project.state / FOLDER)
    if at.is_draft:
        return FileStorage(
            root, in_project=False, most_bytes=limits.DRAFT_FILES_BYTES,
            most_files=limits.DRAFT_FILES,
        )  # fmt: skip
    storage = FileStorage(
        root, in_project=False, most_bytes=settings.most_bytes, most_files=settings.most_files
    )
    if isinstance(at.source, FolderSource):
        return storage._replace(root=str(at.source.folder), in_project=True)
    if settings.bucket is None:
        return storage
    bucket, prefix = settings.bucket, at.project.name or project
    return storage._replace(
        bucket=Bucket(
            bucket.endpoint, bucket.bucket, bucket.region, bucket.key_id, bucket.secret, prefix
        )
    )


PLAN_SECONDS: Final = 120.0


async def plan_live(
    at: PublishContext, tables: Mapping[str, Mapping[str, Any]], env: Sequence[str]
) -> dict[str, Any]:
    """Return the plan as of `bbops db plan --json`, names in `env` with a value, and job counts.

    Args:
        at: the context of the project.
        tables: tables as in their files.
        env: names of variables.

    Raises:
        BbopsError: the tables have errors, or the database is unavailable.
    """
    request = WeighTables(tables=tables, engine=at.engine, **at.request_fields)
    answer = await at.plane.build.ask(request, timeout_seconds=PLAN_SECONDS)
    values = [name for name in env if at.secrets.has(name)]
    return answer.plan | {"env": values, "work": await count_jobs(at)}
