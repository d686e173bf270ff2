"""The storage of a project in one process: opened once, whatever is linked."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bbops.base.storage import Storage
from bbops_server.process.messages.projects import FileStorage
from bbops_server.process.storage.bucket import BucketStorage
from bbops_server.process.storage.disk import DiskStorage
from bbops_server.process.storage.usage import StoredSize


class Storages:
    """The places where files of a project are, and were before its settings changed."""

    def __init__(self) -> None:
        self._disks: dict[FileStorage, DiskStorage] = {}
        self._buckets: dict[FileStorage, BucketStorage] = {}

    def find(self, kept: FileStorage) -> Storage:
        """Return the storage of a place."""
        most = StoredSize(kept.most_bytes, kept.most_files)
        if kept.bucket is not None:
            if kept not in self._buckets:
                self._buckets[kept] = BucketStorage(kept.bucket, most)
            return self._buckets[kept]
        if kept not in self._disks:
            self._disks[kept] = DiskStorage(Path(kept.root), most, in_project=kept.in_project)
        return self._disks[kept]

    async def close(self) -> None:
        """Close what is open."""
        for disk in self._disks.values():
            await asyncio.to_thread(disk.close)
        for bucket in self._buckets.values():
            await bucket.close()
