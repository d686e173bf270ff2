"""Check whether this machine is ready to run a server.

Exits with 1 if something is missing that every server needs.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Final, Literal

import click

from bbops.base.console import say
from bbops.base.errors import BbopsError
from bbops.interfaces.cli._command_group import examples
from bbops_server.commands._settings import read_settings, settings_option

State = Literal["ok", "warning", "error", "optional"]

_FLUSHES: Final = 20
_SLOW_SECONDS: Final = 0.02


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at.

    Attributes:
        state: `optional`, it is missing, and most projects do not need it.
        said: what was found.
        hint: what to do about it; empty for nothing.
    """

    name: str
    state: State
    said: str
    hint: str = ""


@examples("bbops doctor", "bbops doctor --json")
@click.command()
@click.argument("folder", default=".", type=click.Path(path_type=Path, file_okay=False))
@settings_option
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(folder: Path, file: Path | None, *, as_json: bool) -> int:
    """Check what this machine has for a server whose state is kept in FOLDER.

    Looks at Python, git, SQLite, the folder's disk, the driver of PostgreSQL, the library of images
    and the browser of htmlToPdf, whose program and sandbox --settings may say. Changes nothing.
    """
    chromium = read_settings(file).chromium if file else None
    found = [
        _python(), _tried("git", _git), _tried("SQLite", _sqlite), _disk(folder),
        _library("PostgreSQL", "asyncpg", "postgres", "a database on PostgreSQL"),
        _library("images", "pyvips", "images", "the addon imageProcessing"),
        _browser(*((chromium.program, chromium.sandbox) if chromium else ("", True))),
    ]  # fmt: skip
    if as_json:
        say(json.dumps([asdict(one) for one in found], indent=2))
    else:
        say("\n".join(line for one in found for line in _lines(one)))
    return int(any(one.state == "error" for one in found))


def _lines(one: Check) -> Iterator[str]:
    yield f"{one.state:<9} {one.name}: {one.said}"
    if one.hint:
        yield f"    hint: {one.hint}"


def _tried(name: str, look: Callable[[], str]) -> Check:
    try:
        return Check(name, "ok", look())
    except BbopsError as error:
        return Check(name, "error", error.message, error.hint or "")


def _python() -> Check:
    return Check("Python", "ok", ".".join(map(str, sys.version_info[:3])))


def _git() -> str:
    from bbops.source.git.store import require_git  # noqa: PLC0415 - after --help

    return require_git()


def _sqlite() -> str:
    import sqlite3  # noqa: PLC0415 - after --help

    from bbops.database.sqlite.connection import check_version  # noqa: PLC0415

    check_version()
    return sqlite3.sqlite_version


def _disk(folder: Path) -> Check:
    """Write as a commit that must survive a power cut does; what is written is removed."""
    name = f"disk of {folder}"
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent  # a server makes the rest
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            times = [_flush(file.fileno()) for _ in range(_FLUSHES)]
    except OSError as error:
        why = (error.strerror or "no reason given").lower()
        return Check(name, "error", f"it cannot be written: {why}", "name another folder")
    took = median(times)
    said = f"a flush takes {took * 1_000:.1f} ms"
    if took > _SLOW_SECONDS:
        hint = "keep the state folder on a local SSD: writes wait for the disk"
        return Check(name, "warning", said, hint)
    return Check(name, "ok", said)


def _flush(descriptor: int) -> float:
    began = time.perf_counter()
    os.write(descriptor, bytes(4096))
    os.fsync(descriptor)
    return time.perf_counter() - began


def _library(name: str, module: str, extra: str, use: str) -> Check:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - after --help

    try:
        return Check(name, "ok", f"{module} {version(module)}")
    except PackageNotFoundError:
        hint = f"{use} needs it: pip install 'bbops[{extra}]'"
        return Check(name, "optional", f"{module} is not installed", hint)


def _browser(program: str, sandbox: bool) -> Check:
    from bbops_server.process.printing import chromium  # noqa: PLC0415 - after --help

    found = chromium.find_program(program)
    trouble = chromium.find_problem(program, sandbox=sandbox)
    if not found:
        return Check("Chromium", "optional", "it is not installed", trouble)
    if trouble:
        return Check("Chromium", "warning", f"{found} cannot print here", trouble)
    if not sandbox:
        hint = "a page that breaks out of Chromium has the rights of the server"
        return Check("Chromium", "warning", f"{found} runs without its sandbox", hint)
    return Check("Chromium", "ok", found)
