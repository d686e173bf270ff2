"""The run of a CI job, the folder of its project, and results as JSON, for `bbops ci`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bbops.interfaces.ci.run import CiRun


def read_job(*, base: str = "", commit: str = "") -> CiRun:
    """Return the run of this job. Raises as `bbops.interfaces.ci.run.read_run`."""
    from bbops.interfaces.ci.run import read_run  # noqa: PLC0415 - after --help

    return read_run(os.environ, base=base, commit=commit)


def find_under(folder: Path) -> str:
    """Return a folder relative to the root of its repository; empty for the root."""
    from bbops.source.git.base import find_around  # noqa: PLC0415 - after --help

    around = find_around(folder)
    return around[1] if around else ""


def to_json(value: Any) -> str:
    """Return JSON in which the runner of GitHub finds no command."""
    import msgspec  # noqa: PLC0415 - after --help

    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    return text.replace("##[", "#\\u0023[")
