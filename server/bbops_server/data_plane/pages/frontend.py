"""Answer with the files of a frontend what no route of the project answers.

A path is looked up among the names of the files there are, so none can lead out of them.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import unquote_to_bytes

import msgspec

from bbops.runtime.http.file_answers import Range, read_range

CONFIG: Final = "/~config.json"
KEPT_BYTES: Final = 64 << 20
"""Contents that stay in the memory of a process."""

MOST_KEPT_BYTES: Final = 1 << 20
"""A larger file is read in pieces, each time."""

_PIECE: Final = 256 << 10

Headers = list[tuple[bytes, bytes]]


class Contents:
    """The contents of files by their name, those asked for last in memory."""

    def __init__(self, most_bytes: int = KEPT_BYTES) -> None:
        self._most, self._held = most_bytes, 0
        self._kept: OrderedDict[Path, bytes] = OrderedDict()

    async def read(self, path: Path) -> bytes:
        """Return a small file. Raises: OSError: it is gone."""
        found = self._kept.get(path)
        if found is not None:
            self._kept.move_to_end(path)
            return found
        data = await asyncio.to_thread(path.read_bytes)
        self._kept[path] = data
        self._held += len(data)
        while self._held > self._most:
            _, gone = self._kept.popitem(last=False)
            self._held -= len(gone)
        return data


class Frontend:
    """One frontend, as it is live with a release."""

    def __init__(
        self, manifest: Manifest, folder: Path, contents: Contents, release: str, url: str
    ) -> None:
        """`folder` is that of the contents, `url` where the project answers."""
        self._manifest, self._folder, self._contents = manifest, folder, contents
        self._release = (b"x-release", release.encode())
        config = {"baseUrl": url, "release": release, **manifest.config}
        self._config = msgspec.json.encode(config)

    async def __call__(self, scope: Any, send: Any) -> bool:
        """Answer a request; return False, with nothing sent, where it is for no file."""
        path = read_path(scope)
        if path is None:
            return False
        if path == CONFIG:
            await self._send_config(scope, send)
            return True
        asset, status = self._find(path), 200
        if asset is None and await self._lead_on(path, scope, send):
            return True
        if asset is None:
            asset, status = self._find_page(path, scope)
        if asset is None:
            return False
        if scope["method"] not in {"GET", "HEAD"}:
            await self._send(scope, send, 405, [(b"allow", b"GET, HEAD")], b"")
        else:
            await self._send_asset(scope, send, asset, status)
        return True

    def _find(self, path: str) -> Asset | None:
        name = f"{path}index.html" if path.endswith("/") else path
        return self._manifest.files.get(name) or self._manifest.old.get(name)

    def _find_page(self, path: str, scope: Any) -> tuple[Asset | None, int]:
        """Return what people see where there is no file: the start page, or that of a 404."""
        files = self._manifest.files
        if not wants_page(scope) or self._is_api(path):
            return None, 404
        if self._manifest.spa and (start := files.get("/index.html")):
            return start, 200
        return files.get("/404.html"), 404

    def _is_api(self, path: str) -> bool:
        return any(path == one or path.startswith(f"{one}/") for one in self._manifest.api)

    async def _lead_on(self, path: str, scope: Any, send: Any) -> bool:
        """Lead from the name of a folder to its page, whose links count from there."""
        if f"{path}/index.html" not in self._manifest.files or not wants_page(scope):
            return False
        last = path.rpartition("/")[2].encode()
        query = scope["query_string"]
        where = b"./" + _quote(last) + b"/" + (b"?" + query if query else b"")
        await self._send(scope, send, 307, [(b"location", where)], b"")
        return True

    async def _send_config(self, scope: Any, send: Any) -> None:
        headers = [
            (b"content-type", b"application/json"), (b"cache-control", b"no-cache"),
            (b"access-control-allow-origin", b"*"),
        ]  # fmt: skip
        await self._send(scope, send, 200, headers, self._config)

    async def _send_asset(self, scope: Any, send: Any, asset: Asset, status: int) -> None:
        given = dict(scope["headers"])
        file, size, encoding = self._choose(asset, given)
        mark = asset.blob[:32].encode() + (b"-" + encoding if encoding else b"")
        etag = b'"' + mark + b'"'
        headers = [
            (b"content-type", asset.type.encode()), (b"cache-control", HEADERS[asset.keeping]),
            (b"etag", etag), (b"accept-ranges", b"bytes"),
        ]  # fmt: skip
        if asset.gzip or asset.brotli:
            headers.append((b"vary", b"accept-encoding"))
        if encoding:
            headers.append((b"content-encoding", encoding))
        if status == 200 and _is_known(given.get(b"if-none-match", b""), etag):
            await self._send(scope, send, 304, headers, b"")
            return
        part = None if status != 200 else read_range(given, size, etag)
        if part is not None:
            if part.is_beyond:
                beyond = (b"content-range", b"bytes */%d" % size)
                await self._send(scope, send, 416, [*headers, beyond], b"")
                return
            headers.append((b"content-range", b"bytes %d-%d/%d" % (part.first, part.last, size)))
            status = 206
        part = part or Range(0, size - 1)
        if scope["method"] == "HEAD":
            await self._send(scope, send, status, headers, b"", part.size_bytes)
        elif size <= MOST_KEPT_BYTES:
            data = await self._contents.read(file)
            await self._send(scope, send, status, headers, data[part.first : part.last + 1])
        else:
            await self._stream(send, status, headers, file, part)

    def _choose(self, asset: Asset, given: dict[bytes, bytes]) -> tuple[Path, int, bytes]:
        """Return the file that is sent, its size, and how it is packed."""
        if asset.brotli and _takes(given, b"br"):
            return self._folder / asset.brotli, asset.brotli_bytes, b"br"
        if asset.gzip and _takes(given, b"gzip"):
            return self._folder / f"{asset.blob}.gz", asset.gzip, b"gzip"
        return self._folder / asset.blob, asset.size_bytes, b""

    async def _stream(
        self, send: Any, status: int, headers: Headers, file: Path, part: Range
    ) -> None:
        await send(self._start(status, headers, part.size_bytes))
        with await asyncio.to_thread(file.open, "rb") as opened:
            await asyncio.to_thread(opened.seek, part.first)
            left = part.size_bytes
            while left:
                piece = await asyncio.to_thread(opened.read, min(left, _PIECE))
                left -= len(piece)
                await send({"type": "http.response.body", "body": piece, "more_body": bool(left)})

    def _start(self, status: int, headers: Headers, size: int) -> dict[str, Any]:
        length = [] if status == 304 else [(b"content-length", b"%d" % size)]
        every = [*headers, *length, (b"x-content-type-options", b"nosniff"), self._release]
        return {"type": "http.response.start", "status": status, "headers": every}

    async def _send(
        self, scope: Any, send: Any, status: int, headers: Headers, body: bytes,
        size: int | None = None,
    ) -> None:  # fmt: skip
        await send(self._start(status, headers, len(body) if size is None else size))
        is_head = scope["method"] == "HEAD"
        await send({"type": "http.response.body", "body": b"" if is_head else body})


def read_path(scope: Any) -> str | None:
    """Return the path that is asked for, decoded once; None where no file has such a name."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    try:
        path = unquote_to_bytes(raw).decode()
    except UnicodeDecodeError:
        return None
    return path if path.startswith("/") and "\\" not in path and path.isprintable() else None


def wants_page(scope: Any) -> bool:
    """Return whether a person opens it in a browser, rather than a script."""
    if scope["method"] not in {"GET", "HEAD"}:
        return False
    return any(name == b"accept" and b"text/html" in value for name, value in scope["headers"])


def _takes(given: dict[bytes, bytes], encoding: bytes) -> bool:
    """Return whether a client takes an encoding. Source: RFC 9110, section 12.5.3."""
    for part in given.get(b"accept-encoding", b"").lower().split(b","):
        name, _, quality = part.strip().partition(b";")
        if name.strip() == encoding:
            return quality.replace(b" ", b"") not in {b"q=0", b"q=0.0", b"q=0.00", b"q=0.000"}
    return False


def _is_known(given: bytes, etag: bytes) -> bool:
    tags = (one.strip().removeprefix(b"W/") for one in given.split(b","))
    return any(one in {etag, b"*"} for one in tags)


def _quote(segment: bytes) -> bytes:
    """Return a segment of a path as it stands in a header."""
    safe = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~"
    return b"".join(bytes([one]) if one in safe else b"%%%02X" % one for one in segment)


# ---- What a frontend consists of: the manifest that a build writes, and data processes serve by

Keeping = Literal["page", "hashed", "plain"]
"""How long browsers keep a file: ask each time, for ever, or ask each time, too; see `HEADERS`."""

HEADERS: Final[dict[Keeping, bytes]] = {
    "page": b"no-cache",
    "hashed": b"public, max-age=31536000, immutable",
    "plain": b"public, max-age=0, must-revalidate",
}


class Asset(msgspec.Struct, frozen=True):
    """One file.

    Attributes:
        blob: its id in git, and its name in the folder of contents.
        type: its content type.
        gzip: the size of `BLOB.gz` beside it; 0 where there is none.
        brotli: the blob that is the same, packed by brotli; empty where there is none.
        brotli_bytes: the size of that.
    """

    blob: str
    size_bytes: int
    type: str
    keeping: Keeping
    gzip: int = 0
    brotli: str = ""
    brotli_bytes: int = 0


class Manifest(msgspec.Struct, frozen=True):
    """A frontend, and what its pages have to know.

    Attributes:
        files: by the path that answers with it.
        old: files of frontends before, that pages which are open may still ask for.
        spa: whether unknown paths show the start page.
        api: where paths begin that never do.
        config: what `/~config.json` says, but for the address.
    """

    files: dict[str, Asset] = {}
    old: dict[str, Asset] = {}
    spa: bool = False
    api: tuple[str, ...] = ()
    config: dict[str, Any] = {}

    def blobs(self) -> set[str]:
        """Return the contents that it needs."""
        every = (*self.files.values(), *self.old.values())
        return {name for one in every for name in (one.blob, one.brotli) if name}


def folder_of(state: Path) -> Path:
    """Return where a project's frontends are kept."""
    return state / "frontend"


def read_manifest(path: Path) -> Manifest:
    """Read a manifest. Raises: OSError: it is gone; msgspec.MsgspecError: it is none."""
    return msgspec.json.decode(path.read_bytes(), type=Manifest)


# ---- What a project answers before its first release: a page for a browser, JSON for a program

_BODY: Final = b'{"error":{"code":"notReady","message":"no release is live yet"}}'
_PAGE: Final = b"""<!doctype html>
<html lang=en>
<meta charset=utf-8>
<meta name=viewport content="width=device-width">
<meta http-equiv=refresh content=5>
<title>No release yet</title>
<h1>No release is live yet</h1>
<p>The server runs, and nothing has been published here so far. This page looks again by itself.</p>
<p>Where it takes longer, <code>bbops status</code> says what is in the way.</p>
</html>
"""
_HEADERS: Final = (
    (b"cache-control", b"no-store"),
    (b"vary", b"accept"),
    (b"retry-after", b"1"),
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)


async def answer_not_ready(scope: Any, send: Any) -> None:
    """Answer 503, whatever was asked."""
    is_page = wants_page(scope)
    body, kind = (_PAGE, b"text/html") if is_page else (_BODY, b"application/json")
    headers = [(b"content-type", kind), (b"content-length", b"%d" % len(body)), *_HEADERS]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    is_head = scope["method"] == "HEAD"
    await send({"type": "http.response.body", "body": b"" if is_head else body})
