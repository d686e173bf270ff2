"""Where a release keeps the files of the addon localStorage."""

from __future__ import annotations

from bbops_server.process.forks import limits
from bbops_server.process.messages.projects import Bucket, FileStorage
from bbops_server.process.storage.archive import FOLDER
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.sources import FolderSource


def find_files(project: str, at: PublishContext) -> FileStorage:
    """Return where: of a draft in its own folder, of `bbops dev` in that of the project.

    Args:
        project: what it calls itself.
        at: its project.
    """
    settings, root = at.plane.settings.files, str(at.project.state / FOLDER)
    if at.is_draft:
        return FileStorage(
            root, in_project=False, most_bytes=limits.DRAFT_FILES_BYTES,
            most_files=limits.DRAFT_FILES,
        )  # fmt: skip
    kept = FileStorage(
        root, in_project=False, most_bytes=settings.most_bytes, most_files=settings.most_files
    )
    if isinstance(at.source, FolderSource):
        return kept._replace(root=str(at.source.folder), in_project=True)
    if settings.bucket is None:
        return kept
    one, prefix = settings.bucket, at.project.name or project
    return kept._replace(
        bucket=Bucket(one.endpoint, one.bucket, one.region, one.key_id, one.secret, prefix)
    )
