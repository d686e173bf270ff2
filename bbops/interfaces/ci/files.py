"""Files of a CI job: bounded reads, and appends to the files of the runner."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from bbops.base.disk import replace_file
from bbops.base.errors import BbopsError

_CHUNK: Final = 1 << 20


def read_file(path: Path, max_bytes: int) -> bytes | None:
    """Return the content of a regular file; None if it does not exist.

    Raises:
        BbopsError: the file is larger than `max_bytes`, or cannot be read.
    """
    try:
        handle = os.open(
            path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise BbopsError(f"cannot read '{path}': {reason_of(error)}") from None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise BbopsError(f"cannot read '{path}': expected a regular file")
        data = _read_handle(handle, max_bytes + 1)
    finally:
        os.close(handle)
    if len(data) > max_bytes:
        raise BbopsError(f"'{path}' is too large, expected at most {max_bytes:,} bytes")
    return data


def _read_handle(handle: int, max_bytes: int) -> bytes:
    data = bytearray()
    while len(data) < max_bytes and (chunk := os.read(handle, min(_CHUNK, max_bytes - len(data)))):
        data += chunk
    return bytes(data)


def append_text(path: Path, text: str, *, max_bytes: int | None = None) -> bool:
    """Append text to a file in UTF-8, and return whether the file had room for it.

    Nothing is written if the file would grow beyond `max_bytes`.

    Raises:
        BbopsError: the file cannot be written.
    """
    data = text.encode(errors="replace")
    try:
        with path.open("ab") as file:
            if max_bytes is not None and file.tell() + len(data) > max_bytes:
                return False
            file.write(data)
    except (OSError, ValueError) as error:
        raise BbopsError(f"cannot write '{path}': {reason_of(error)}") from None
    return True


def size_of(path: Path) -> int:
    """Return the size of a file in bytes; 0 if it does not exist."""
    try:
        return path.stat().st_size
    except (OSError, ValueError):
        return 0


def write_file(path: Path, data: bytes) -> None:
    """Replace the content of a file that the user named, as a whole.

    Raises:
        BbopsError: the folder does not exist, or the file cannot be written.
    """
    try:
        replace_file(path, data)
        path.chmod(0o644)
    except (OSError, ValueError) as error:
        hint = f"create the folder '{path.parent}'" if not path.parent.is_dir() else ""
        raise BbopsError(f"cannot write '{path}': {reason_of(error)}", hint=hint) from None


def make_folder(folder: Path) -> None:
    """Create a folder with its parents. A new folder `.bbops` gets a .gitignore for its content.

    Raises:
        BbopsError: the folder cannot be created.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if folder.parent.name == ".bbops":
            _write_new(folder.parent / ".gitignore", "*\n")
    except (OSError, ValueError) as error:
        raise BbopsError(
            f"cannot create the folder '{folder}': {reason_of(error)}",
            hint="choose another folder with --results DIR",
        ) from None


def _write_new(path: Path, text: str) -> None:
    """Write a file that does not exist, and is not a symlink to a file that does not exist."""
    with suppress(FileExistsError), path.open("x", encoding="utf-8") as file:
        file.write(text)


def reason_of(error: Exception) -> str:
    """Return the reason for an error of the system, in lower case."""
    return (getattr(error, "strerror", None) or "the path is not valid").lower()
