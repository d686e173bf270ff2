"""The files of a project in object storage, by the protocol of Amazon S3, below its name.

There are no folders in a bucket: what is before a `/` of a key is shown as one. What a project
keeps is counted by looking at all keys, at most once a minute.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from time import monotonic
from typing import Final
from urllib.parse import quote
from xml.etree import ElementTree as ET

from bbops.base.host import HttpRequest, HttpResponse
from bbops.base.storage import Listed, Parts, RunFile
from bbops.runtime.values.failures import Failure, HttpFailure, Thrown, Unavailable
from bbops.runtime.vendors._signing import Signer, query_of
from bbops_server.process.host.clock import SystemClock
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.process.host.http import OutsideHttp
from bbops_server.process.messages.projects import Bucket
from bbops_server.process.storage.usage import StoredSize

SECONDS: Final = 60.0
MAX_BYTES: Final = 110_000_000
COUNT_SECONDS: Final = 60.0
"""A count of all keys holds for so long, with what this process adds to it."""
_PAGE: Final = 1_000
_ANYWHERE: Final = ("0.0.0.0/0", "::/0")
"""The server's own settings name the endpoint, which may be a private address."""
_NAMESPACE: Final = re.compile(r"\{[^}]*\}")


class BucketStorage:
    """Files whose keys begin with a project's name."""

    def __init__(self, bucket: Bucket, most: StoredSize) -> None:
        self._bucket, self._most = bucket, most
        self._http, self._clock = OutsideHttp(EgressPolicy(_ANYWHERE)), SystemClock()
        self._signer = Signer(bucket.key_id, bucket.secret, bucket.region)
        self._held, self._counted = StoredSize(0, 0), float("-inf")
        self._counting = asyncio.Lock()

    async def save(self, base: Parts, path: Parts, content: bytes | RunFile) -> int:
        """Write a file, see `Storage`."""
        key = self._key(base, path)
        if isinstance(content, RunFile):
            content = await asyncio.to_thread(_read, content)
        before = await self._head(key)
        old = 0 if before is None else before[0]
        await self._require_room(len(content) - old, 0 if before else 1)
        _require_success(await self._ask("PUT", key, body=content))
        self._held = StoredSize(
            self._held.size_bytes + len(content) - old, self._held.files + (before is None)
        )
        return len(content)

    async def open(self, base: Parts, path: Parts) -> _BucketFile | None:
        """Return a file, see `Storage`."""
        key = self._key(base, path)
        found = await self._head(key)
        return None if found is None else _BucketFile(self, key, *found)

    async def delete(self, base: Parts, path: Parts) -> None:
        """Remove a file, see `Storage`."""
        answer = await self._ask("DELETE", self._key(base, path))
        if answer.status != 404:
            _require_success(answer)
        self._counted = float("-inf")

    async def list(
        self, base: Parts, path: Parts, *, recursive: bool, most: int
    ) -> Sequence[Listed]:
        """Return what is in a folder, see `Storage`."""
        start = self._key(base, path) + "/"
        skipped = len(self._key(base, ())) + 1
        found: dict[str, Listed] = {}
        async for key, size in self._keys(start, "" if recursive else "/"):
            if size is None:  # a folder, told as the beginning of keys
                name = key[skipped:].rstrip("/")
                found[name] = Listed(name, 0, is_folder=True)
                continue
            name = key[skipped:]
            found[name] = Listed(name, size, is_folder=False)
            inner = key[len(start) :].split("/")[:-1]
            for end in range(1, len(inner) + 1):
                folder = "/".join((*path, *inner[:end]))
                found.setdefault(folder, Listed(folder, 0, is_folder=True))
            if len(found) > most:
                break
        return [found[name] for name in sorted(found)]

    async def exists(self, base: Parts, path: Parts) -> bool:
        """Return whether there is a file."""
        return await self._head(self._key(base, path)) is not None

    async def close(self) -> None:
        """Close connections."""
        await self._http.close()

    async def read_part(self, key: str, tag: str, first: int, most: int) -> bytes:
        """Return a part of a file that has not changed. Raises: OSError: it has."""
        more = {"range": f"bytes={first}-{first + most - 1}", "if-match": f'"{tag}"'}
        answer = await self._ask("GET", key, more=more)
        if answer.status in {404, 412}:
            raise FileNotFoundError("the file has changed while it was read")
        if answer.status == 416:
            return b""
        return _require_success(answer).body

    # ---- the vendor
    def _key(self, base: Parts, path: Parts) -> str:
        return "/".join((self._bucket.prefix, *base, *path))

    async def _head(self, key: str) -> tuple[int, str] | None:
        answer = await self._ask("HEAD", key)
        if answer.status == 404:
            return None
        headers = _require_success(answer).headers
        return int(headers.get("content-length", "0")), headers.get("etag", "").strip('"')

    async def _keys(
        self, prefix: str, delimiter: str = ""
    ) -> AsyncIterator[tuple[str, int | None]]:
        query = {"list-type": "2", "max-keys": str(_PAGE), "prefix": prefix}
        if delimiter:
            query["delimiter"] = delimiter
        while True:
            root = _xml(_require_success(await self._ask("GET", "", query=query)).body)
            for one in root.iter("Contents"):
                yield one.findtext("Key", ""), int(one.findtext("Size", "0"))
            for one in root.iter("CommonPrefixes"):
                yield one.findtext("Prefix", ""), None
            token = root.findtext("NextContinuationToken")
            if root.findtext("IsTruncated") != "true" or not token:
                return
            query["continuation-token"] = token

    async def _require_room(self, size_bytes: int, files: int) -> None:
        """Raises: Thrown: 507 `storageFull`."""
        async with self._counting:
            if monotonic() - self._counted > COUNT_SECONDS:
                size = count = 0
                async for _, one in self._keys(f"{self._bucket.prefix}/"):
                    size, count = size + (one or 0), count + 1
                self._held, self._counted = StoredSize(size, count), monotonic()
        most, now = self._most, self._held
        if size_bytes > 0 and now.size_bytes + size_bytes > most.size_bytes:
            raise _full(f"{most.size_bytes:,} bytes")
        if files > 0 and now.files + files > most.files:
            raise _full(f"{most.files:,} files")

    async def _ask(
        self, method: str, key: str, *, body: bytes = b"", query: Mapping[str, str] | None = None,
        more: Mapping[str, str] | None = None,
    ) -> HttpResponse:  # fmt: skip
        url = f"{self._bucket.endpoint.rstrip('/')}/{self._bucket.bucket}"
        url += f"/{quote(key, safe='/~')}" if key else ""
        now, query = self._clock.now(), query or {}
        headers = self._signer.headers(method, url, query, body, now, more or {})
        url += f"?{query_of(query)}" if query else ""
        request = HttpRequest(method, url, headers, body, SECONDS, "none", most_bytes=MAX_BYTES)
        try:
            return await self._http.send(request)
        except HttpFailure as failure:
            raise _unavailable(failure.message) from None


class _BucketFile:
    """A file of a bucket; of another content nothing is read."""

    def __init__(self, storage: BucketStorage, key: str, size_bytes: int, tag: str) -> None:
        self._storage, self._key = storage, key
        self.size_bytes, self.tag = size_bytes, tag

    async def read(self, first: int, most: int) -> bytes:
        """Return a part of it."""
        most = min(most, self.size_bytes - first)
        return await self._storage.read_part(self._key, self.tag, first, most) if most > 0 else b""


def _read(content: RunFile) -> bytes:
    with content.open() as file:
        return file.read()


def _full(most: str) -> Thrown:
    return Thrown(507, f"this project keeps at most {most}", code="storageFull")


def _require_success(answer: HttpResponse) -> HttpResponse:
    """Return a good answer. Raises: Failure: it is none."""
    if 200 <= answer.status <= 299:
        return answer
    raise _unavailable(f"it answered {answer.status}")


def _unavailable(why: str) -> Failure:
    return Unavailable(
        "storageFailed", f"the object storage of the server failed: {why}",
        hint="check 'files' in server.yaml", retry_seconds=30,
    )  # fmt: skip


def _xml(body: bytes) -> ET.Element:
    """Return XML without the names of its name space."""
    if b"<!DOCTYPE" in body:
        raise _unavailable("its list is not XML")
    try:
        root = ET.fromstring(body)  # noqa: S314 - without a DTD nothing can be expanded
    except ET.ParseError:
        raise _unavailable("its list is not XML") from None
    for one in root.iter():
        one.tag = _NAMESPACE.sub("", one.tag)
    return root
