"""Take the files of a request: streamed into the folder of the run, bounded, and looked at."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from multipart import MultipartError, MultipartSegment

from bbops.runtime.http.forms import Part, Texts, open_parts, read_part, unreadable
from bbops.runtime.http.responses import TooLarge
from bbops.runtime.values.failures import InvalidInput
from bbops.runtime.values.fields import REQUIRED
from bbops.runtime.values.file_types import HEAD_BYTES, content_type, is_allowed
from bbops.runtime.values.units import MAX_BODY, size_bytes

MAX_FILES: Final = 100
"""Of one request."""
MANY: Final = 10
"""How many times its `maxSize` the files of a name with `many` may have together."""
_MAX_TEXTS: Final = size_bytes(MAX_BODY)
"""Of all fields that are no files."""
_FLUSH_BYTES: Final = 256 << 10
"""What is kept in memory of a file before it is written: a thread costs about 0.1 ms."""
_MAX_NAME: Final = 200
_SUFFIX: Final = re.compile(r"\.[A-Za-z0-9]{1,10}\Z").search


class Slot(NamedTuple):
    """What an endpoint declares under a name of `files`."""

    name: str
    optional: bool
    max_size: str
    types: tuple[str, ...]
    many: bool

    @property
    def max_bytes(self) -> int:
        """How large each file may be."""
        return size_bytes(self.max_size)


@dataclass(slots=True)
class Received:
    """What came: texts and files by their names, and what is wrong with which."""

    texts: Texts = field(default_factory=dict)
    files: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    errors: dict[str, list[str]] = field(default_factory=dict)

    def values(self, slots: Sequence[Slot]) -> dict[str, Any]:
        """Return what stands in `input`; what is wrong is added to the errors."""
        found: dict[str, Any] = {}
        for slot in slots:
            files = self.files.get(slot.name, [])
            if not files:
                if not slot.optional and slot.name not in self.errors:
                    self.errors[slot.name] = [REQUIRED]
            elif slot.many:
                found[slot.name] = files
            elif len(files) == 1:
                found[slot.name] = files[0]
            else:
                self.errors[slot.name] = ["must be one file"]
        return found


class Uploads:
    """The files that one endpoint takes; made once per release."""

    def __init__(self, declared: Sequence[Mapping[str, Any]], max_body_bytes: int | None) -> None:
        """Without a bound for the whole body it has room for every file that is declared."""
        self.slots = tuple(Slot(**{**one, "types": tuple(one["types"])}) for one in declared)
        self.by_name = {slot.name: slot for slot in self.slots}
        room = sum(slot.max_bytes * (MANY if slot.many else 1) for slot in self.slots)
        self.max_body_bytes = max_body_bytes or room + _MAX_TEXTS

    async def receive(self, boundary: str, chunks: AsyncIterator[bytes], folder: Any) -> Received:
        """Return what comes in parts.

        Args:
            boundary: what stands between the parts.
            chunks: the body.
            folder: of the run, see `bbops.base.doors.Folder`.

        Raises:
            InvalidInput: the parts cannot be read.
            TooLarge: a file, or all of it.
            Unavailable: a file cannot be written.
        """
        box = _Box(self.by_name, folder)
        try:
            with open_parts(boundary) as parser:
                async for chunk in chunks:
                    for event in () if parser.closed else parser.parse(chunk):
                        await box.take(event)
        except (MultipartError, UnicodeDecodeError) as error:
            raise unreadable(error) from None
        return box.received


class _Box:
    """Takes one part after the other."""

    def __init__(self, slots: Mapping[str, Slot], folder: Any) -> None:
        self.received = Received()
        self._slots, self._folder = slots, folder
        self._slot: Slot | None = None
        self._part: MultipartSegment
        self._named: Part
        self._waiting, self._head, self._text = bytearray(), b"", bytearray()
        self._path = ""
        self._files = self._text_bytes = 0

    async def take(self, event: Any) -> None:
        """Take what the parser says: a part begins, some of it, or its end."""
        if isinstance(event, MultipartSegment):
            self._begin(event)
        elif event is not None:
            await self._add(event)
        elif self._slot is not None:
            await self._end(self._slot)
        elif self._named.filename is None:
            text = self._text.decode(self._named.charset)
            self.received.texts.setdefault(self._named.name, []).append(text)

    def _begin(self, part: MultipartSegment) -> None:
        if (part.content_type or "").startswith("multipart/"):
            raise InvalidInput({}, "a part of the form has parts of its own")
        named = read_part(part)
        self._part, self._named, self._text = part, named, bytearray()
        self._slot = self._slots.get(named.name)
        if self._slot is not None and named.filename is None:
            self.received.errors[self._slot.name] = ["must be a file"]
            self._slot = None
        if self._slot is None:
            return
        self._files += 1
        if self._files > MAX_FILES:
            raise InvalidInput({}, f"the form has more than {MAX_FILES} files")
        suffix = _SUFFIX(clean_name(named.filename or ""))
        self._path = f"upload-{self._files}{suffix[0].lower() if suffix else ''}"
        self._waiting, self._head = bytearray(), b""

    async def _add(self, data: bytes) -> None:
        if self._slot is not None:
            if self._part.bytes_received > self._slot.max_bytes:
                raise TooLarge(self._slot.max_bytes, f"file '{self._slot.name}'")
            if len(self._head) < HEAD_BYTES:
                self._head += data[: HEAD_BYTES - len(self._head)]
            self._waiting += data
            if len(self._waiting) >= _FLUSH_BYTES:
                await self._write()
        elif self._named.filename is None:
            self._text += data
            self._text_bytes += len(data)
            if self._text_bytes > _MAX_TEXTS:
                raise TooLarge(_MAX_TEXTS, "the text of the form")

    async def _end(self, slot: Slot) -> None:
        part, named = self._part, self._named
        if named.filename == "" and not part.bytes_received:  # a browser's field that nobody filled
            return
        await self._write()
        found = content_type(self._head, (part.content_type or "").lower())
        if not is_allowed(found, slot.types):
            listed = ", ".join(slot.types)
            self.received.errors.setdefault(slot.name, []).append(f"must be one of: {listed}")
        self.received.files.setdefault(slot.name, []).append({
            "path": self._path, "name": clean_name(named.filename or ""),
            "size": part.bytes_received, "contentType": found,
        })  # fmt: skip

    async def _write(self) -> None:
        data, self._waiting = bytes(self._waiting), bytearray()
        await self._folder.append(self._path, data)


def clean_name(given: str) -> str:
    """Return the name of a file as its sender calls it, without folders and hidden signs."""
    last = unicodedata.normalize("NFC", given).replace("\\", "/").rpartition("/")[2]
    shown = "".join(one for one in last if unicodedata.category(one)[0] != "C").strip(" .")
    if len(shown) <= _MAX_NAME:
        return shown or "file"
    suffix = _SUFFIX(shown)
    end = suffix[0] if suffix else ""
    return shown[: _MAX_NAME - len(end)] + end
