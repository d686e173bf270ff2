"""What of a proposal somebody sees: of other projects, those that they may read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bbops_server.forge.standing import Standing


def show_to(standing: Standing, may_read: Callable[[str], bool]) -> Standing:
    """Return how a proposal stands without the projects that somebody may not read.

    What is in the way is then not said either, but that something is: it names what is in them.

    Args:
        standing: all of it.
        may_read: whether they may read a project, by its name.
    """
    seen = tuple(one for one in standing.others if may_read(one.project))
    hidden = len(standing.others) - len(seen)
    if not hidden:
        return standing
    told = standing.obstacles if standing.ended else (_hide(hidden),) if standing.obstacles else ()
    return replace(standing, others=seen, hidden=hidden, obstacles=told)


def _hide(count: int) -> str:
    projects = "another project" if count == 1 else f"{count} other projects"
    return f"it changes {projects} of this repository that you may not read; who may sees why"
