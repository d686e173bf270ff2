"""Keep the files of a frontend where data processes read them, and write what is served of it.

Contents lie by their blob ids, so a build that changes three files writes three. What browsers may
still ask for, because a page of before is open, stays for a day.
"""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Any, Final

import msgspec

from bbops.base.disk import replace_file
from bbops.base.errors import ServerError
from bbops.build.check._frontend import find_files
from bbops.language.project import Project
from bbops.source.tree import Entry, Tree
from bbops_server.data_plane.live.recent_frontends import read_recent
from bbops_server.data_plane.pages.assets import Asset, Keeping, Manifest, folder_of, read_manifest
from bbops_server.publish.build.frontend_config import describe_config, find_api

KEPT: Final = 20
"""Manifests; contents that none of them names are deleted."""

OLD_LASTS: Final = timedelta(days=1)
_LEAST_PACKED: Final = 1_024
_BATCH_BYTES: Final = 32 << 20
_PACKED: Final = re.compile(
    r"text/|application/(?:json|javascript|wasm|xml|manifest)|.*\+(?:xml|json)"
)
_TYPES: Final = {
    ".js": "text/javascript", ".mjs": "text/javascript", ".map": "application/json",
    ".wasm": "application/wasm", ".webmanifest": "application/manifest+json",
    ".woff": "font/woff", ".woff2": "font/woff2", ".avif": "image/avif", ".webp": "image/webp",
    ".svg": "image/svg+xml", ".ico": "image/x-icon", ".md": "text/markdown", ".xml": "text/xml",
}  # fmt: skip
_HASHED: Final = re.compile(r"[-._]([A-Za-z0-9_-]{8}|[0-9a-f]{9,64})(?:\.[a-z0-9]{1,5}){1,2}")
_KNOWN: Final = mimetypes.MimeTypes()


def keep(state: Path, project: Project, tree: Tree, under: str) -> str:
    """Write what a project serves beside its routes; return the name of the manifest.

    Args:
        state: the project's.
        project: whose settings count.
        tree: with the files.
        under: the folder in it that is served; empty for all of it.

    Raises:
        ServerError: the state folder cannot be written.
    """
    folder = folder_of(state)
    settings = project.settings.model.frontend
    try:
        for one in (folder, folder / "files"):  # `parents` would take no mode
            one.mkdir(mode=0o700, parents=True, exist_ok=True)
        files = _keep_files(folder / "files", tree, under) if settings else {}
        manifest = Manifest(
            files, _find_old(state, files), bool(settings and settings.spa),
            find_api(project), describe_config(project),
        )  # fmt: skip
        return _write(folder, manifest, keep=_live_names(state))
    except OSError as error:
        reason = (error.strerror or "no reason given").lower()
        raise ServerError(
            f"cannot write the frontend into '{folder}': {reason}",
            hint="the state folder needs a writable disk with free space",
        ) from None


def _write(folder: Path, manifest: Manifest, *, keep: set[str]) -> str:
    data = msgspec.json.encode(manifest, order="deterministic")
    name = f"{hashlib.sha256(data).hexdigest()}.json"
    if (folder / name).exists():
        os.utime(folder / name)
        return name
    replace_file(folder / name, data)
    _prune(folder, {name, *keep})
    return name


# ---- files
def _keep_files(folder: Path, tree: Tree, under: str) -> dict[str, Asset]:
    entries = dict(find_files(tree, under))
    _store(folder, tree, entries.values())
    return {
        path: _describe(folder, path, entry, entries)
        for path, entry in sorted(entries.items())
        if not (path.endswith((".br", ".gz")) and path[:-3] in entries)
    }


def _describe(folder: Path, path: str, entry: Entry, entries: Mapping[str, Entry]) -> Asset:
    kind = find_type(path)
    brotli, ready = entries.get(f"{path}.br"), entries.get(f"{path}.gz")
    size = _pack(folder, entry, kind, ready)
    return Asset(
        entry.blob, entry.size_bytes, kind, find_keeping(path), size,
        brotli.blob if brotli else "", brotli.size_bytes if brotli else 0,
    )  # fmt: skip


def _store(folder: Path, tree: Tree, entries: Iterable[Entry]) -> None:
    """Write the contents that are not there yet, a batch in memory at a time."""
    batch: list[Entry] = []
    for entry in entries:
        if (folder / entry.blob).exists():
            continue
        batch.append(entry)
        if sum(one.size_bytes for one in batch) > _BATCH_BYTES:
            _store_batch(folder, tree, batch)
            batch = []
    _store_batch(folder, tree, batch)


def _store_batch(folder: Path, tree: Tree, batch: Sequence[Entry]) -> None:
    for blob, data in tree.read([one.blob for one in batch]).items() if batch else ():
        replace_file(folder / blob, data)


def _pack(folder: Path, entry: Entry, kind: str, ready: Entry | None) -> int:
    """Pack a file by gzip, unless that was done; return its size, 0 where it does not help."""
    packed = folder / f"{entry.blob}.gz"
    if not packed.exists():
        if ready is not None:
            data = (folder / ready.blob).read_bytes()
        elif _PACKED.match(kind) and entry.size_bytes >= _LEAST_PACKED:
            data = gzip.compress((folder / entry.blob).read_bytes(), 9, mtime=0)
        else:
            return 0
        if len(data) >= entry.size_bytes:
            return 0
        replace_file(packed, data)
    return packed.stat().st_size


def find_type(path: str) -> str:
    """Return the content type of a file, by the end of its name alone."""
    end = PurePosixPath(path).suffix.lower()
    kind = _TYPES.get(end) or _KNOWN.guess_type(f"x{end}")[0] or "application/octet-stream"
    is_text = kind.startswith("text/") or kind in {"application/json", "image/svg+xml"}
    return f"{kind}; charset=utf-8" if is_text else kind


def find_keeping(path: str) -> Keeping:
    """Return how long browsers keep a file: for ever where its name holds a digest of it."""
    if path.endswith((".html", ".htm")):
        return "page"
    found = _HASHED.search(path.rpartition("/")[2])
    return "hashed" if found and _is_digest(found[1]) else "plain"


def _is_digest(text: str) -> bool:
    """Return whether a part of a name is no word and no number: `BwqKXYh3`, `3f2a91bc`."""
    has_digit, is_number = any(map(str.isdigit, text)), text.isdigit()
    capitals = sum(map(str.isupper, text[1:]))
    return not is_number and (has_digit or (capitals > 0 and any(map(str.islower, text))))


# ---- what was live before
def _find_old(state: Path, files: Mapping[str, Asset]) -> dict[str, Asset]:
    """Return files with a digest in their names that pages of before may still ask for."""
    now = datetime.now(UTC)  # noqa: TID251 - the server's own clock
    found: dict[str, Asset] = {}
    for one in read_recent(state):
        if one.until is None or now - one.until < OLD_LASTS:
            with suppress(OSError, msgspec.MsgspecError):
                found |= read_manifest(folder_of(state) / one.name).files
    return {
        path: asset for path, asset in found.items()
        if asset.keeping == "hashed" and path not in files
    }  # fmt: skip


def _live_names(state: Path) -> set[str]:
    """Return the manifests that are live, or may be after a restart."""
    found = {one.name for one in read_recent(state)}
    for record in ("publication.json", "publication-next.json"):
        with suppress(OSError, msgspec.MsgspecError):
            told: dict[str, Any] = msgspec.json.decode((state / record).read_bytes())
            found.add(str(told.get("frontend", "")))
    return found


def _prune(folder: Path, keep: set[str]) -> None:
    """Delete manifests that are long gone, and contents that none names."""
    every = [one for one in folder.glob("*.json") if one.name != "recent.json"]
    every.sort(key=lambda one: one.stat().st_mtime, reverse=True)
    stay = [one for at, one in enumerate(every) if at < KEPT or one.name in keep]
    for gone in set(every) - set(stay):
        gone.unlink(missing_ok=True)
    named = {blob for one in stay for blob in read_manifest(one).blobs()}
    for file in (folder / "files").iterdir():
        if file.name.removesuffix(".gz") not in named:
            file.unlink(missing_ok=True)
