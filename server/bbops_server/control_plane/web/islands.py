"""Islands: the scripts, style sheets and fonts that the build has made for the pages.

A checkout or wheel without them has the same pages, without scripts and with the system's fonts.
"""

from __future__ import annotations

import gzip
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

import msgspec
from markupsafe import Markup

BUILT: Final = Path(__file__).parent.parent / "built"
URL: Final = "/built"
FONT_TYPE: Final = "font/woff2"
_TYPES: Final = {".js": "text/javascript", ".css": "text/css", ".woff2": FONT_TYPE}
_log = logging.getLogger(__name__)


class IslandFiles(msgspec.Struct, frozen=True):
    """The files of an island: its script, its style sheet or "", and the scripts it imports."""

    file: str
    style: str
    parts: tuple[str, ...]


class FileDigest(msgspec.Struct, frozen=True):
    """The digest of a file, as browsers compare it."""

    integrity: str


class IslandManifest(msgspec.Struct, frozen=True):
    """The built files: islands and fonts by name, and all files with their digests."""

    islands: dict[str, IslandFiles] = {}
    fonts: dict[str, str] = {}
    files: dict[str, FileDigest] = {}


@dataclass(frozen=True, slots=True)
class BuiltFile:
    """A file for browsers.

    Attributes:
        contents: its bytes by content coding; fonts have `identity`, others `br` and `gzip`.
    """

    media_type: str
    contents: Mapping[str, bytes]

    def encode(self, accepted: str) -> tuple[str, bytes]:
        """Return the best coding for an Accept-Encoding header, and the bytes; no I/O."""
        if "identity" in self.contents:
            return "identity", self.contents["identity"]
        names = set(_accepted_codings(accepted))
        for coding, content in self.contents.items():
            if coding in names:
                return coding, content
        return "identity", gzip.decompress(self.contents["gzip"])


@dataclass(frozen=True, slots=True)
class Islands:
    """The built files of a server; empty if the build has made none."""

    manifest: IslandManifest = field(default_factory=IslandManifest)
    files: Mapping[str, BuiltFile] = field(default_factory=dict)

    @classmethod
    def load(cls, folder: Path = BUILT) -> Self:
        """Read the built files into memory, about 150 KB. Without a manifest there are none."""
        if not (folder / "manifest.json").is_file():
            return cls()
        try:
            text = (folder / "manifest.json").read_bytes()
            manifest = msgspec.json.decode(text, type=IslandManifest)
            return cls(manifest, {name: _read_file(folder, name) for name in manifest.files})
        except (OSError, msgspec.MsgspecError) as error:
            _log.warning("pages have no islands: '%s' cannot be read: %s", folder, error)
            return cls()

    def tags(self, name: str) -> Markup:
        """Return the tags that load an island; empty if it is not built."""
        island = self.manifest.islands.get(name)
        return Markup("\n").join(self._tags(island)) if island else Markup("")

    def _tags(self, island: IslandFiles) -> Iterator[Markup]:
        if island.style:
            yield self._tag('<link rel="stylesheet" href="{}" integrity="{}">', island.style)
        for part in island.parts:
            yield self._tag('<link rel="modulepreload" href="{}" integrity="{}">', part)
        yield self._tag('<script type="module" src="{}" integrity="{}"></script>', island.file)

    def _tag(self, template: str, file: str) -> Markup:
        # format escapes its arguments; the template is one of those above
        return Markup(template).format(  # noqa: S704
            f"{URL}/{file}", self.manifest.files[file].integrity
        )

    def font(self, name: str) -> str:
        """Return the URL of a font; empty if it is not built."""
        file = self.manifest.fonts.get(name)
        return f"{URL}/{file}" if file else ""


def _read_file(folder: Path, name: str) -> BuiltFile:
    suffix = Path(name).suffix
    if suffix == ".woff2":
        return BuiltFile(FONT_TYPE, {"identity": (folder / name).read_bytes()})
    packed = {"br": f"{name}.br", "gzip": f"{name}.gz"}
    contents = {coding: (folder / file).read_bytes() for coding, file in packed.items()}
    return BuiltFile(_TYPES[suffix], contents)


def _accepted_codings(header: str) -> Iterator[str]:
    """Yield the codings of an Accept-Encoding header whose weight is not 0."""
    for item in header.split(","):
        coding, _, weight = item.partition(";")
        if weight.replace(" ", "").rstrip("0.") != "q=":
            yield coding.strip().lower()
