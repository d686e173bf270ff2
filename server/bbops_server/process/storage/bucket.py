"""The files of a project in S3-compatible object storage, with the project's prefix.

A bucket has no folders: the part of a key before a `/` is shown as a folder. The size of all files
is computed from a list of all keys, at most once a minute.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from time import monotonic
from typing import Final
from urllib.parse import quote
from xml.etree import ElementTree as ET

from bbops.base.doors import Listed, Parts, RunFile
from bbops.base.host import HttpRequest, HttpResponse
from bbops.runtime.values.failures import Failure, HttpFailure, Thrown, Unavailable
from bbops.runtime.vendors._credentials import Signer, query_of
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.process.host.http import OutsideHttp
from bbops_server.process.host.system import SystemClock
from bbops_server.process.messages.projects import Bucket
from bbops_server.process.storage.usage import StoredSize

SECONDS: Final = 60.0
MAX_BYTES: Final = 110_000_000
COUNT_SECONDS: Final = 60.0
"""The time for which a count of all keys is used, plus the changes of this process."""
_PAGE: Final = 1_000
_ANYWHERE: Final = ("0.0.0.0/0", "::/0")
"""All addresses: the endpoint is in the server's settings, and may be private."""
_NAMESPACE: Final = re.compile(r"\{[^}]*\}")


class BucketStorage:
    """Files whose keys begin with a project's prefix."""

    def __init__(self, bucket: Bucket, limit: StoredSize) -> None:
        self._bucket, self._limit = bucket, limit
        self._http, self._clock = OutsideHttp(EgressPolicy(_ANYWHERE)), SystemClock()
        self._signer = Signer(bucket.key_id, bucket.secret, bucket.region)
        self._size, self._counted_at = StoredSize(0, 0), float("-inf")
        self._counting = asyncio.Lock()

    async def save(self, base: Parts, path: Parts, content: bytes | RunFile) -> int:
        """Write a file, see `Storage`."""
        key = self._key(base, path)
        if isinstance(content, RunFile):
            content = await asyncio.to_thread(_read, content)
        existing = await self._head(key)
        old_size = 0 if existing is None else existing[0]
        await self._require_room(len(content) - old_size, 0 if existing else 1)
        _require_success(await self._send("PUT", key, body=content))
        self._size = StoredSize(
            self._size.size_bytes + len(content) - old_size, self._size.files + (existing is None)
        )
        return len(content)

    async def open(self, base: Parts, path: Parts) -> _BucketFile | None:
        """Return a file, see `Storage`."""
        key = self._key(base, path)
        head = await self._head(key)
        return None if head is None else _BucketFile(self, key, *head)

    async def delete(self, base: Parts, path: Parts) -> None:
        """Remove a file, see `Storage`."""
        response = await self._send("DELETE", self._key(base, path))
        if response.status != 404:
            _require_success(response)
        self._counted_at = float("-inf")

    async def list(
        self, base: Parts, path: Parts, *, recursive: bool, most: int
    ) -> Sequence[Listed]:
        """Return the files and folders of a folder, see `Storage`."""
        start = self._key(base, path) + "/"
        skipped = len(self._key(base, ())) + 1
        entries: dict[str, Listed] = {}
        async for key, size in self._keys(start, "" if recursive else "/"):
            if size is None:  # a folder: a common prefix of keys
                name = key[skipped:].rstrip("/")
                entries[name] = Listed(name, 0, is_folder=True)
                continue
            name = key[skipped:]
            entries[name] = Listed(name, size, is_folder=False)
            inner = key[len(start) :].split("/")[:-1]
            for end in range(1, len(inner) + 1):
                folder = "/".join((*path, *inner[:end]))
                entries.setdefault(folder, Listed(folder, 0, is_folder=True))
            if len(entries) > most:
                break
        return [entries[name] for name in sorted(entries)]

    async def exists(self, base: Parts, path: Parts) -> bool:
        """Return whether a file exists."""
        return await self._head(self._key(base, path)) is not None

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()

    async def read_part(self, key: str, tag: str, first: int, most: int) -> bytes:
        """Return up to `most` bytes from `first`. Raises: OSError: the file has changed."""
        headers = {"range": f"bytes={first}-{first + most - 1}", "if-match": f'"{tag}"'}
        response = await self._send("GET", key, headers=headers)
        if response.status in {404, 412}:
            raise FileNotFoundError("the file has changed while it was read")
        if response.status == 416:
            return b""
        return _require_success(response).body

    # ---- requests
    def _key(self, base: Parts, path: Parts) -> str:
        return "/".join((self._bucket.prefix, *base, *path))

    async def _head(self, key: str) -> tuple[int, str] | None:
        response = await self._send("HEAD", key)
        if response.status == 404:
            return None
        headers = _require_success(response).headers
        return int(headers.get("content-length", "0")), headers.get("etag", "").strip('"')

    async def _keys(
        self, prefix: str, delimiter: str = ""
    ) -> AsyncIterator[tuple[str, int | None]]:
        query = {"list-type": "2", "max-keys": str(_PAGE), "prefix": prefix}
        if delimiter:
            query["delimiter"] = delimiter
        while True:
            root = _parse_xml(_require_success(await self._send("GET", "", query=query)).body)
            for element in root.iter("Contents"):
                yield element.findtext("Key", ""), int(element.findtext("Size", "0"))
            for element in root.iter("CommonPrefixes"):
                yield element.findtext("Prefix", ""), None
            token = root.findtext("NextContinuationToken")
            if root.findtext("IsTruncated") != "true" or not token:
                return
            query["continuation-token"] = token

    async def _require_room(self, size_bytes: int, files: int) -> None:
        """Check the limit for new bytes and files. Raises: Thrown: 507 `storageFull`."""
        async with self._counting:
            if monotonic() - self._counted_at > COUNT_SECONDS:
                total = count = 0
                async for _, size in self._keys(f"{self._bucket.prefix}/"):
                    total, count = total + (size or 0), count + 1
                self._size, self._counted_at = StoredSize(total, count), monotonic()
        limit, now = self._limit, self._size
        if size_bytes > 0 and now.size_bytes + size_bytes > limit.size_bytes:
            raise _full(f"{limit.size_bytes:,} bytes")
        if files > 0 and now.files + files > limit.files:
            raise _full(f"{limit.files:,} files")

    async def _send(
        self, method: str, key: str, *, body: bytes = b"", query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpResponse:  # fmt: skip
        url = f"{self._bucket.endpoint.rstrip('/')}/{self._bucket.bucket}"
        url += f"/{quote(key, safe='/~')}" if key else ""
        now, query = self._clock.now(), query or {}
        signed = self._signer.headers(method, url, query, body, now, headers or {})
        url += f"?{query_of(query)}" if query else ""
        request = HttpRequest(method, url, signed, body, SECONDS, "none", most_bytes=MAX_BYTES)
        try:
            return await self._http.send(request)
        except HttpFailure as failure:
            raise _unavailable(failure.message) from None


class _BucketFile:
    """A file of a bucket. If its content changes, `read` fails."""

    def __init__(self, storage: BucketStorage, key: str, size_bytes: int, tag: str) -> None:
        self._storage, self._key = storage, key
        self.size_bytes, self.tag = size_bytes, tag

    async def read(self, first: int, most: int) -> bytes:
        """Return up to `most` bytes from `first`."""
        most = min(most, self.size_bytes - first)
        return await self._storage.read_part(self._key, self.tag, first, most) if most > 0 else b""


def _read(content: RunFile) -> bytes:
    with content.open() as file:
        return file.read()


def _full(limit: str) -> Thrown:
    return Thrown(507, f"this project keeps at most {limit}", code="storageFull")


def _require_success(response: HttpResponse) -> HttpResponse:
    """Return a successful response. Raises: Failure: its status is an error."""
    if 200 <= response.status <= 299:
        return response
    raise _unavailable(f"it answered {response.status}")


def _unavailable(reason: str) -> Failure:
    return Unavailable(
        "storageFailed", f"the object storage of the server failed: {reason}",
        hint="check 'files' in server.yaml", retry_seconds=30,
    )  # fmt: skip


def _parse_xml(body: bytes) -> ET.Element:
    """Parse XML, and remove the namespaces of its tags."""
    if b"<!DOCTYPE" in body:
        raise _unavailable("its list is not XML")
    try:
        root = ET.fromstring(body)  # noqa: S314 - without a DTD there are no entities to expand
    except ET.ParseError:
        raise _unavailable("its list is not XML") from None
    for element in root.iter():
        element.tag = _NAMESPACE.sub("", element.tag)
    return root
