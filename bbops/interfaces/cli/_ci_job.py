"""The run of a CI job, the folder of its project, and results as JSON, for `bbops ci`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from bbops.interfaces.ci.run import CiRun

results_option = click.option(
    "--results", metavar="DIR", type=click.Path(path_type=Path),
    help="The folder for the results; by default .bbops/ci, or RUNNER_TEMP on GitHub.",
)  # fmt: skip


def read_job(*, base: str = "", commit: str = "") -> CiRun:
    """Return the run of this job. Raises as `bbops.interfaces.ci.run.read_run`."""
    from bbops.interfaces.ci.run import read_run  # noqa: PLC0415 - after --help

    return read_run(os.environ, base=base, commit=commit)


def find_under(folder: Path) -> str:
    """Return a folder relative to the root of its repository; empty for the root."""
    from bbops.source.git.comparing import find_around  # noqa: PLC0415 - after --help

    around = find_around(folder)
    return around[1] if around else ""


def clear_earlier_result(name: str, folder: Path, results: Path | None) -> None:
    """Delete an earlier result of a command, which may fail before it has a new one."""
    from bbops.interfaces.ci.results import clear_result, results_folder  # noqa: PLC0415 - after --help

    clear_result(results_folder(read_job(), folder, find_under(folder), results), name)


def to_json(value: Any) -> str:
    """Return JSON in which the runner of GitHub finds no command."""
    import msgspec  # noqa: PLC0415 - after --help

    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    return text.replace("##[", "#\\u0023[")
