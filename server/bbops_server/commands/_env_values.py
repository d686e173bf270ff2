"""Env values in commands: their state folder, declarations and secret input."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from bbops.base.diagnostics import find_nearest
from bbops.base.errors import BbopsError, GitError, ServerError
from bbops.interfaces.cli._server import find_running
from bbops.source.git.command import run
from bbops.source.git.place import find_repository
from bbops.source.tree import FolderTree
from bbops_server.commands._projects import require_project, state_of
from bbops_server.commands._settings import state_folder

# ---- The state folder whose values a command changes, found as `bbops jobs` finds its server

_SERVE: Final = Path(".bbops/state")
_DEV: Final = Path(".bbops/dev")
_REMOTE_MACHINE: Final = (
    "on the server's machine, add --state DIR with its state folder; for a server that will start"
    f" here, add --state {_SERVE}"
)


@dataclass(frozen=True, slots=True)
class EnvState:
    """A server's state folder; `reader` says which server reads it, for the command's answer."""

    folder: Path
    reader: str

    def make(self) -> Path:
        """Return the folder, made for this user alone where it is missing."""
        is_default = self.folder == _SERVE
        return state_folder(Path.cwd(), None if is_default else self.folder)


def find_env_state(state: Path | None, *, drafts: bool = False) -> EnvState:
    """Return the state folder that a server reads.

    The first of these: `state`, the folder of a server that runs for this folder or a parent
    folder, the folder of the server that ran here last, the folder that `bbops serve` will make
    here.

    Args:
        state: the folder from the command line.
        drafts: whether the value is one of drafts, which `bbops dev` does not have.

    Raises:
        ServerError: this is a clone or no project, and no server keeps its state here.
    """
    if state is not None:
        return EnvState(state, "")
    running = find_running(("state",) if drafts else ("state", "dev"))
    if running is not None:
        return EnvState(running, f"for 'bbops {_verb(running)}', in {running}")
    require_project(None)
    if not drafts and _DEV.is_dir() and not _SERVE.is_dir():
        return EnvState(_DEV, f"for 'bbops dev'; for 'bbops serve', add --state {_SERVE}")
    found = state_of(None)
    if not found.is_dir() and _has_remote():
        raise ServerError(
            "this folder is a clone, and no server keeps its state here", hint=_REMOTE_MACHINE
        )
    other = f"; for 'bbops dev', add --state {_DEV}" if _DEV.is_dir() and not drafts else ""
    return EnvState(found, f"for 'bbops serve' in this folder{other}")


def _verb(folder: Path) -> str:
    return "dev" if folder.name == "dev" else "serve"


def _has_remote() -> bool:
    """Return whether this folder's repository was cloned from another one, or is pushed to one."""
    try:
        place = find_repository(Path.cwd())
    except GitError:
        return False
    return bool(run(place, ("config", "--local", "--get-regexp", r"^remote\.")).output)


# ---- The env variables that a project declares, for warnings about names that no release reads

RECORD: Final = "publication.json"
"""The file of a state folder with the record of the live release."""


class _Declarations(msgspec.Struct):
    """The part of the record with the declared variables."""

    env: dict[str, Any]


def warn_undeclared(name: str, state: Path, folder: Path) -> str:
    """Return a warning about a variable that the live release does not declare; empty without one.

    A variable in the working folder's project.yaml is on its way to a release. Nothing is known
    before the first publication.

    Args:
        state: the state folder of the project.
        folder: the working folder.
    """
    declared = _read_live(state)
    if declared is None or name in declared or name in _read_folder(folder):
        return ""
    near = find_nearest(name, sorted(declared))
    meant = f" (did you mean '{near}'?)" if near else ""
    return f"project.yaml of the live release does not declare '{name}'{meant}"


def _read_live(state: Path) -> frozenset[str] | None:
    """Return the variables of the live release; None without a readable record."""
    try:
        record = msgspec.json.decode((state / RECORD).read_bytes(), type=_Declarations)
    except (OSError, msgspec.MsgspecError):
        return None
    return frozenset(record.env)


def _read_folder(folder: Path) -> Iterable[str]:
    """Return the variables of a folder's project.yaml; none if it cannot be read."""
    if not (folder / "project.yaml").is_file():
        return ()
    from bbops.language.loading.load import load  # noqa: PLC0415 - pydantic; only for a warning

    try:
        project = load(FolderTree(folder)).project
    except BbopsError:
        return ()
    return project.settings.model.env if project is not None else ()


# ---- A value that is typed or piped into a command: how it is decoded, and what is odd about it

_BOM: Final = "\ufeff"
_LINE_CHARACTERS: Final = frozenset("\t\n")
_INVISIBLE: Final = frozenset(("Cc", "Cf", "Zl", "Zp", "Zs"))
_SHOWN: Final = 5
"""How many characters are reported; more say no more."""

_UTF8_HINT: Final = "convert it to UTF-8, for example: iconv -f ISO-8859-1 -t UTF-8 FILE"
_UTF16_HINT: Final = "convert it to UTF-8: iconv -f UTF-16 -t UTF-8 FILE"
_BOM_HINT: Final = "remove the three bytes of the mark: tail -c +4 FILE"


def read_piped(most_bytes: int = -1) -> str:
    """Return the whole of a pipe without its final line break, LF or CRLF.

    Raises:
        ServerError: it is not UTF-8, or begins with a byte order mark.
    """
    data = sys.stdin.buffer.read(most_bytes)
    return decode(data.removesuffix(b"\r\n" if data.endswith(b"\r\n") else b"\n"))


def decode(data: bytes) -> str:
    """Return the text of a value. Raises: ServerError: as `read_piped`, without the value."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ServerError("the value is UTF-16, expected UTF-8", hint=_UTF16_HINT)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ServerError(
            f"the value is not UTF-8: byte {error.start + 1} of {len(data)} does not belong there",
            hint=_UTF8_HINT,
        ) from None
    return require_text(text)


def require_text(text: str) -> str:
    """Return a value that has no part which no program can use.

    Raises:
        ServerError: it begins with a byte order mark, or holds a NUL or a byte that is not UTF-8.
    """
    if text.startswith(_BOM):
        raise ServerError("the value begins with a byte order mark (U+FEFF)", hint=_BOM_HINT)
    if "\0" in text:
        raise ServerError("the value contains a NUL character, as UTF-16 does", hint=_UTF16_HINT)
    if any(unicodedata.category(one) == "Cs" for one in text):
        raise ServerError("the value is not UTF-8", hint=_UTF8_HINT)
    return text


def find_oddities(text: str) -> Iterator[str]:
    """Yield warnings about a value that is kept as it is; they show no visible part of it."""
    if not text:
        yield "the value is empty"
        return
    odd = [index for index in range(len(text)) if _is_odd(text, index)]
    for index in odd[:_SHOWN]:
        yield f"character {index + 1} of {len(text)} is {_name(text[index])}"
    if len(odd) > _SHOWN:
        yield f"{len(odd) - _SHOWN} more characters are invisible"


def _is_odd(text: str, index: int) -> bool:
    """Return whether a character is invisible, and not a usual part of a value of many lines."""
    one = text[index]
    if unicodedata.category(one) not in _INVISIBLE:
        return False
    if index in {0, len(text) - 1}:
        return True
    is_line_break = one == "\r" and text[index + 1] == "\n"
    return not (one == " " or one in _LINE_CHARACTERS or is_line_break)


def _name(one: str) -> str:
    known = {"\n": "a line feed", "\r": "a carriage return", "\t": "a tab", " ": "a space"}
    return known.get(one) or f"U+{ord(one):04X} ({unicodedata.name(one, 'control character')})"
