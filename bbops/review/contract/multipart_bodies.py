"""Encode the parts of a form as multipart/form-data (RFC 7578)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

FORM: Final = "multipart/form-data"
_OCTETS: Final = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class FormPart:
    """A field or a file of a form.

    Attributes:
        file: the name of the file; None for a field.
        content_type: of a file; empty if it is not known.
    """

    name: str
    content: bytes
    file: str | None = None
    content_type: str = ""


def encode_parts(parts: Sequence[FormPart]) -> tuple[bytes, str]:
    """Return the body and its content type; the boundary is a hash of the content."""
    boundary = sha256(b"\0".join(part.content for part in parts)).hexdigest()[:32]
    while any(boundary.encode() in part.content for part in parts):
        boundary = sha256(boundary.encode()).hexdigest()[:32]
    lines = b"".join(_head(part, boundary) + part.content + b"\r\n" for part in parts)
    return lines + f"--{boundary}--\r\n".encode(), f"{FORM}; boundary={boundary}"


def _head(part: FormPart, boundary: str) -> bytes:
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="{_escape(part.name)}"'
    if part.file is not None:
        kind = part.content_type if _is_plain(part.content_type) else _OCTETS
        head += f'; filename="{_escape(part.file)}"\r\nContent-Type: {kind}'
    return f"{head}\r\n\r\n".encode(errors="replace")


def _escape(name: str) -> str:
    """Return a name as browsers escape it (HTML, multipart/form-data encoding algorithm)."""
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


def _is_plain(content_type: str) -> bool:
    return bool(content_type) and content_type.isascii() and content_type.isprintable()
