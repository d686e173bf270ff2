"""Multipart bodies and small images."""

from __future__ import annotations

BOUND = "----b"


HEADERS = {"content-type": f"multipart/form-data; boundary={BOUND}"}


PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0" * 40


Part = tuple[str, str | None, str, bytes]


def body(*parts: Part, end: str = "--") -> bytes:
    """Return a body of (name, file name, content type, content)."""
    out = b""
    for name, file, kind, content in parts:
        named = f'; filename="{file}"' if file is not None else ""
        typed = f"Content-Type: {kind}\r\n" if kind else ""
        head = f'--{BOUND}\r\nContent-Disposition: form-data; name="{name}"{named}\r\n{typed}\r\n'
        out += head.encode() + content + b"\r\n"
    return out + f"--{BOUND}{end}\r\n".encode()


def png(name: str = "picture", content: bytes = PNG, file: str = "a.png") -> Part:
    return name, file, "image/png", content
