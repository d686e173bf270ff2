"""What a frontend consists of: the manifest that a build writes, and data processes serve by."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal

import msgspec

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
