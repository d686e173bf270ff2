"""Other systems, and a user's own machine: the folder as it is, compared with the main branch.

`--base` and `--commit` name other revisions.
"""

from __future__ import annotations

from collections.abc import Mapping

from bbops.interfaces.ci.run import CiRun


def read(_env: Mapping[str, str]) -> CiRun:
    """Return a run without an event."""
    return CiRun()
