"""localStorage: files that a project keeps with its server.

Where they are is the door's matter: the disk of the server, or a bucket.
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from bbops.base.doors import OpenFile, RunFile, Storage
from bbops.runtime.values.failures import FlowError, Thrown
from bbops.runtime.values.values import spend
from bbops.runtime.vendors._parts import read_base, read_path
from bbops.runtime.vendors._probe import AtServer
from bbops.runtime.vendors._work import MOST_FILE_BYTES, AddonFailure, Work

MOST_VALUE_BYTES: Final = 10_000_000
"""Of a file that becomes a value; larger ones are answered with, or copied."""
MOST_LISTED: Final = 10_000
USUAL_BASE: Final = "./storage"


async def save_file(work: Work, given: Mapping[str, Any]) -> Any:
    """Write a file.

    Raises:
        Thrown: 400, the path or the content cannot be; 413, the file is too large.
        FlowError: there is no such file of the run.
    """
    path, content = _path(given["path"]), given["content"]
    made: bytes | RunFile
    if isinstance(content, dict):
        made = await _run_file(work, content.get("path"))
    else:
        made = to_bytes(content, given.get("encoding"))
        if len(made) > MOST_FILE_BYTES:
            raise _too_large()
    size = await _storage(work).save(_base(work), path, made)
    return {"path": "/".join(path), "size": size}


async def read_file(work: Work, given: Mapping[str, Any]) -> Any:
    """Read a file.

    Raises:
        Thrown: 404, there is none; 400, it is not in this encoding; 413, it is too large to be a
            value.
    """
    file = await find(work, given["path"])
    if file.size_bytes > MOST_VALUE_BYTES:
        most = f"{MOST_VALUE_BYTES:,}"
        raise Thrown(413, f"the file has more than {most} bytes: answer with it instead")
    data = await file.read(0, MOST_VALUE_BYTES)
    spend(len(data) >> 10)
    return from_bytes(data, given.get("encoding"))


async def find(work: Work, path: Any) -> OpenFile:
    """Return a file that is kept, open.

    Raises:
        Thrown: 400, the path cannot be; 404, there is none.
    """
    found = await _storage(work).open(_base(work), _path(path))
    if found is None:
        raise Thrown(404, "there is no such file")
    return found


async def delete_file(work: Work, given: Mapping[str, Any]) -> Any:
    """Delete a file."""
    path = _path(given["path"])
    await _storage(work).delete(_base(work), path)
    return {"path": "/".join(path)}


async def list_files(work: Work, given: Mapping[str, Any]) -> Any:
    """List the files of a folder.

    Raises:
        Thrown: 413, there are too many.
    """
    path, recursive = _path(given.get("directory", ""), is_folder=True), given.get("recursive")
    found = await _storage(work).list(
        _base(work), path, recursive=recursive is True, most=MOST_LISTED
    )
    if len(found) > MOST_LISTED:
        raise Thrown(413, f"there are more than {MOST_LISTED:,} files: list one folder at a time")
    return [
        {"path": one.path, "name": one.path.rpartition("/")[2], "size": one.size_bytes,
         "isDirectory": one.is_folder} for one in found
    ]  # fmt: skip


async def file_exists(work: Work, given: Mapping[str, Any]) -> Any:
    """Say whether a file is there."""
    return await _storage(work).exists(_base(work), _path(given["path"]))


async def _run_file(work: Work, name: Any) -> RunFile:
    if work.folder is None:
        raise FlowError("this run has no files")
    size = await work.folder.size(name) if type(name) is str else None
    if size is None:
        raise FlowError("'localStorage' found no such file in this run")
    if size > MOST_FILE_BYTES:
        raise _too_large()
    return RunFile(work.folder, name)


def _too_large() -> Thrown:
    return Thrown(413, f"a file has at most {MOST_FILE_BYTES:,} bytes")


def _storage(work: Work) -> Storage:
    if work.host.storage is None:
        raise AddonFailure("addon-config", "this process keeps no files")
    found: Storage = work.host.storage
    return found


def _base(work: Work) -> tuple[str, ...]:
    try:
        return read_base(work.config.get("baseDirectory") or USUAL_BASE)
    except ValueError as error:
        raise AddonFailure("addon-config", f"'baseDirectory' cannot be used: {error}") from None


def _path(text: Any, *, is_folder: bool = False) -> tuple[str, ...]:
    try:
        return read_path(text, is_folder=is_folder)
    except ValueError as error:
        raise Thrown(400, str(error)) from None


# ---- encodings
def to_bytes(content: Any, encoding: str | None) -> bytes:
    """Return what stands in a file: of text in an encoding, or bytes as they are.

    Raises:
        Thrown: 400, the content is not in it.
    """
    encoding = encoding or "utf8"
    if isinstance(content, bytes):
        return content
    if type(content) is not str or encoding not in _FROM_TEXT:
        raise Thrown(400, f"the encoding '{encoding}' does not take this content")
    try:
        return _FROM_TEXT[encoding](content)
    except (ValueError, binascii.Error):
        raise Thrown(400, f"the content is not valid {encoding}") from None


def from_bytes(data: bytes, encoding: str | None) -> str | bytes:
    """Return what a file says, in an encoding.

    Raises:
        Thrown: 400, it is not text.
    """
    encoding = encoding or "utf8"
    if encoding == "buffer":
        return data
    if encoding not in _TO_TEXT:
        raise Thrown(400, f"there is no encoding '{encoding}'")
    try:
        return _TO_TEXT[encoding](data)
    except UnicodeDecodeError:
        raise Thrown(400, "the file is not UTF-8 text: read it as base64 or buffer") from None


def _read_base64(text: str) -> bytes:
    """Return bytes of base64 of either alphabet, with or without the signs at its end."""
    whole = "".join(text.split()).replace("-", "+").replace("_", "/").rstrip("=")
    return b64decode(whole + "=" * (-len(whole) % 4), validate=True)


_FROM_TEXT: Final[Mapping[str, Callable[[str], bytes]]] = {
    "utf8": str.encode,
    "base64": _read_base64,
    "binary": partial(str.encode, encoding="latin-1"),
}
_TO_TEXT: Final[Mapping[str, Callable[[bytes], str]]] = {
    "utf8": bytes.decode,
    "base64": lambda data: b64encode(data).decode(),
    "binary": partial(bytes.decode, encoding="latin-1"),
}


async def probe(work: Work) -> str:
    """Return nothing once a folder was read; only a server keeps files."""
    if work.host.storage is None:
        raise AtServer("files are kept by a server: there is none here")
    await _storage(work).list(_base(work), (), recursive=False, most=1)
    return ""


STEPS: Final = {
    "saveFile": save_file,
    "readFile": read_file,
    "deleteFile": delete_file,
    "listFiles": list_files,
    "fileExists": file_exists,
}
PROBE: Final = probe
