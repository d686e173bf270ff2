"""Write the files of a frontend where data processes read them, with a manifest.

Contents are named by their blob ids, so a build that changes three files writes three. Files of
older manifests stay for a day, because pages in browsers may still request them.
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
from bbops.compiler.check._files import find_files
from bbops.language.project import Project
from bbops.review.contract.sessions import session
from bbops.source.tree import Entry, Tree
from bbops_server.data_plane.live.recent_frontends import read_recent
from bbops_server.data_plane.pages.frontend import (
    Asset,
    Keeping,
    Manifest,
    folder_of,
    read_manifest,
)

MANIFESTS_KEPT: Final = 20
"""Manifests to keep; contents that none of them names are deleted."""

OLD_FILES_LAST: Final = timedelta(days=1)
_MIN_COMPRESSED_BYTES: Final = 1_024
_BATCH_BYTES: Final = 32 << 20
_COMPRESSIBLE: Final = re.compile(
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


def write_frontend(state: Path, project: Project, tree: Tree, under: str) -> str:
    """Write the files that a project serves besides its routes; return the manifest's name.

    Args:
        state: the project's state folder.
        project: the project with the settings.
        tree: the tree with the files.
        under: the served folder of the tree; empty for the whole tree.

    Raises:
        ServerError: the state folder cannot be written.
    """
    folder = folder_of(state)
    settings = project.settings.model.frontend
    try:
        for created in (folder, folder / "files"):  # mkdir applies `mode` to the last folder only
            created.mkdir(mode=0o700, parents=True, exist_ok=True)
        files = _write_files(folder / "files", tree, under) if settings else {}
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
def _write_files(folder: Path, tree: Tree, under: str) -> dict[str, Asset]:
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
    size = _compress(folder, entry, kind, ready)
    return Asset(
        entry.blob, entry.size_bytes, kind, find_keeping(path), size,
        brotli.blob if brotli else "", brotli.size_bytes if brotli else 0,
    )  # fmt: skip


def _store(folder: Path, tree: Tree, entries: Iterable[Entry]) -> None:
    """Write the contents that are missing, in batches that fit into memory."""
    batch: list[Entry] = []
    for entry in entries:
        if (folder / entry.blob).exists():
            continue
        batch.append(entry)
        if sum(batched.size_bytes for batched in batch) > _BATCH_BYTES:
            _store_batch(folder, tree, batch)
            batch = []
    _store_batch(folder, tree, batch)


def _store_batch(folder: Path, tree: Tree, batch: Sequence[Entry]) -> None:
    for blob, data in tree.read([entry.blob for entry in batch]).items() if batch else ():
        replace_file(folder / blob, data)


def _compress(folder: Path, entry: Entry, kind: str, ready: Entry | None) -> int:
    """Compress a file by gzip, unless it is; return the size, 0 if it would not be smaller."""
    compressed = folder / f"{entry.blob}.gz"
    if not compressed.exists():
        if ready is not None:
            data = (folder / ready.blob).read_bytes()
        elif _COMPRESSIBLE.match(kind) and entry.size_bytes >= _MIN_COMPRESSED_BYTES:
            data = gzip.compress((folder / entry.blob).read_bytes(), 9, mtime=0)
        else:
            return 0
        if len(data) >= entry.size_bytes:
            return 0
        replace_file(compressed, data)
    return compressed.stat().st_size


def find_type(path: str) -> str:
    """Return the content type of a file by its extension."""
    end = PurePosixPath(path).suffix.lower()
    kind = _TYPES.get(end) or _KNOWN.guess_type(f"x{end}")[0] or "application/octet-stream"
    is_text = kind.startswith("text/") or kind in {"application/json", "image/svg+xml"}
    return f"{kind}; charset=utf-8" if is_text else kind


def find_keeping(path: str) -> Keeping:
    """Return how long browsers may cache a file: forever if its name has a digest."""
    if path.endswith((".html", ".htm")):
        return "page"
    match = _HASHED.search(path.rpartition("/")[2])
    return "hashed" if match and _is_digest(match[1]) else "plain"


def _is_digest(text: str) -> bool:
    """Return whether a part of a name looks like a digest: `BwqKXYh3`, `3f2a91bc`."""
    has_digit, is_number = any(map(str.isdigit, text)), text.isdigit()
    capitals = sum(map(str.isupper, text[1:]))
    return not is_number and (has_digit or (capitals > 0 and any(map(str.islower, text))))


# ---- older manifests
def _find_old(state: Path, files: Mapping[str, Asset]) -> dict[str, Asset]:
    """Return files with a digest in their names that open pages may still request."""
    now = datetime.now(UTC)  # noqa: TID251 - the server's own clock
    assets: dict[str, Asset] = {}
    for recent in read_recent(state):
        if recent.until is None or now - recent.until < OLD_FILES_LAST:
            with suppress(OSError, msgspec.MsgspecError):
                assets |= read_manifest(folder_of(state) / recent.name).files
    return {
        path: asset for path, asset in assets.items()
        if asset.keeping == "hashed" and path not in files
    }  # fmt: skip


def _live_names(state: Path) -> set[str]:
    """Return the manifests that are live, or may be after a restart."""
    names = {recent.name for recent in read_recent(state)}
    for record in ("publication.json", "publication-next.json"):
        with suppress(OSError, msgspec.MsgspecError):
            content: dict[str, Any] = msgspec.json.decode((state / record).read_bytes())
            names.add(str(content.get("frontend", "")))
    return names


def _prune(folder: Path, keep: set[str]) -> None:
    """Delete old manifests, and contents that no manifest names."""
    manifests = [path for path in folder.glob("*.json") if path.name != "recent.json"]
    manifests.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    remaining = [
        path for at, path in enumerate(manifests) if at < MANIFESTS_KEPT or path.name in keep
    ]
    for old in set(manifests) - set(remaining):
        old.unlink(missing_ok=True)
    named = {blob for path in remaining for blob in read_manifest(path).blobs()}
    for file in (folder / "files").iterdir():
        if file.name.removesuffix(".gz") not in named:
            file.unlink(missing_ok=True)


# ---- The project's configuration for a frontend: sign-in and API paths

_ROUTES: Final = ("login", "signup", "refresh", "logout")


def describe_config(project: Project) -> dict[str, Any]:
    """Return the content of `/~config.json`: the session, with the path of each route."""
    settings = project.settings.model.session
    published = {
        endpoint.name for endpoint in project.endpoints.values()
        if endpoint.model.docs_visibility != "hidden"
    }  # fmt: skip
    contract = session(project, published)
    if contract is None:
        return {"project": project.settings.model.name, "session": None}
    routes = {key: _find_route(project, getattr(settings, key, None), published) for key in _ROUTES}
    cookie = contract.cookie
    return {
        "project": project.settings.model.name,
        "session": {
            **routes, "tokenField": contract.token_field, "refreshField": contract.refresh_field,
            "header": contract.header, "expiresIn": contract.expires_in,
            "cookie": {"name": cookie.name, "path": cookie.path} if cookie else None,
            "csrfHeader": contract.csrf_header,
        },
    }  # fmt: skip


def _find_route(project: Project, name: str | None, published: set[str]) -> dict[str, str] | None:
    route = next((each for each in project.routes if each.endpoint.name == name), None)
    if route is None or name not in published:
        return None
    return {"method": route.method, "path": route.path}


def find_api(project: Project) -> tuple[str, ...]:
    """Return the path prefixes of the API, also for paths without a route."""
    prefixes = set[str]()
    for route in project.routes:
        base = route.channel.model.base_path.rstrip("/") if route.channel else ""
        prefixes.add(base or route.path.partition("/:")[0].rstrip("/"))
    return tuple(sorted(prefix for prefix in prefixes if prefix))
