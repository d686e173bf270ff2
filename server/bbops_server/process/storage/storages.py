"""The storages of a project in a process, each opened once."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bbops.base.doors import Storage
from bbops_server.process.messages.projects import FileStorage
from bbops_server.process.storage.bucket import BucketStorage
from bbops_server.process.storage.disk import DiskStorage
from bbops_server.process.storage.usage import StoredSize


class Storages:
    """Storages by settings: the current ones, and those before a change of the settings."""

    def __init__(self) -> None:
        self._disks: dict[FileStorage, DiskStorage] = {}
        self._buckets: dict[FileStorage, BucketStorage] = {}

    def find(self, settings: FileStorage) -> Storage:
        """Return the storage of settings, and open it if needed."""
        limit = StoredSize(settings.most_bytes, settings.most_files)
        if settings.bucket is not None:
            if settings not in self._buckets:
                self._buckets[settings] = BucketStorage(settings.bucket, limit)
            return self._buckets[settings]
        if settings not in self._disks:
            root = Path(settings.root)
            self._disks[settings] = DiskStorage(root, limit, in_project=settings.in_project)
        return self._disks[settings]

    async def close(self) -> None:
        """Close all storages."""
        for disk in self._disks.values():
            await asyncio.to_thread(disk.close)
        for bucket in self._buckets.values():
            await bucket.close()
