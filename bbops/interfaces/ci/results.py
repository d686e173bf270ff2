"""The results of `bbops ci` commands as JSON files, which `bbops ci report` reads.

`bbops.interfaces.ci.sections` has one file for each kind of result, named as the result's file,
with its type as RESULT and with `make_section`. A result may come from a job of another repository,
so it is untrusted and its size is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from bbops.base.disk import remove_file
from bbops.base.errors import BbopsError
from bbops.base.registry import members
from bbops.interfaces.ci.files import make_folder, read_file, reason_of, write_file
from bbops.interfaces.ci.run import CiRun

T = TypeVar("T")

SECTIONS: Final = "bbops.interfaces.ci.sections"
MAX_RESULT_BYTES: Final = 8 << 20
_ODD: Final = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class ReportSection:
    """The part of a report about one command.

    Attributes:
        title: the name of the part, such as "Check".
        order: its place in the report; the smallest comes first.
        is_ok: whether the command found no problems.
        headline: plain text, such as `2 errors, 1 warning`.
        project: the name of the project.
        commit: the commit that was examined; empty if unknown.
        details: returns blocks of Markdown, with at most the given number of rows in each table.
    """

    title: str
    order: int
    is_ok: bool
    headline: str
    project: str
    commit: str
    details: Callable[[int], Iterator[str]]


def results_folder(run: CiRun, project: Path, under: str, chosen: Path | None = None) -> Path:
    """Return the folder of the results: in the job's temporary folder, else in the project.

    Args:
        run: the run of the job.
        project: the folder of the project.
        under: the same folder, relative to the repository's root; empty for the root.
        chosen: the folder that the user named.

    Raises:
        BbopsError: the folder in the project is a symlink, which may lead to files of the user.
    """
    if chosen is not None:
        return chosen
    if run.scratch is not None:
        name = _ODD.sub("-", under.replace("/", "--")) or "root"
        return run.scratch / "bbops-ci" / name
    folder = project / ".bbops" / "ci"
    if link := next((path for path in (folder.parent, folder) if path.is_symlink()), None):
        hint = f"delete '{link}', or choose another folder with --results DIR"
        raise BbopsError(f"'{link}' is a symlink, expected a folder", hint=hint)
    return folder


def write_result(folder: Path, name: str, result: Any) -> Path:
    """Write the result of a command and return its file.

    Args:
        folder: as `results_folder` returns it; it is created if needed.
        name: the name of a file in `bbops.interfaces.ci.sections`.
        result: a value that msgspec encodes.

    Raises:
        BbopsError: the file cannot be written.
    """
    make_folder(folder)
    path = folder / f"{name}.json"
    write_file(path, msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n")
    return path


def clear_result(folder: Path, name: str) -> None:
    """Delete the result of an earlier run of a command, which may fail before it has a new one.

    Raises:
        BbopsError: the file cannot be deleted.
    """
    path = folder / f"{name}.json"
    try:
        remove_file(path)
    except OSError as error:
        raise BbopsError(f"cannot delete '{path}': {reason_of(error)}") from None


def make_section(name: str, result: Any) -> ReportSection:
    """Return the part of a report about a result; `name` is the one of its file."""
    section: ReportSection = dict(members(SECTIONS))[name].make_section(result)
    return section


def read_sections(folder: Path) -> list[ReportSection]:
    """Return the parts of a report, one for each result in a folder.

    Raises:
        BbopsError: there is no result, or one is too large or not valid.
    """
    found = list[ReportSection]()
    for name, section in members(SECTIONS):
        path = folder / f"{name}.json"
        data = read_file(path, MAX_RESULT_BYTES)
        if data is not None:
            try:
                found.append(section.make_section(msgspec.json.decode(data, type=section.RESULT)))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                hint = f"run 'bbops ci {name}' again"
                raise BbopsError(f"'{path}' is not a result: {error}", hint=hint) from None
    if not found:
        hint = (
            "run 'bbops ci check' or 'bbops ci plan' first, or choose a folder with --results DIR"
        )
        raise BbopsError(f"there are no results in '{folder}'", hint=hint)
    return sorted(found, key=lambda section: section.order)
