"""Let these projects answer, and no others."""

from __future__ import annotations

from bbops_server.process.messages.data.place import Place
from bbops_server.process.messages.request import Done, Request


class ArrangeProjects(Request[Done], frozen=True):
    """Let these projects answer, and no others."""

    projects: dict[str, Place]
    proxies: tuple[str, ...]
    """Whose word about clients is taken."""

    egress: tuple[str, ...]
    """What may be reached."""

    receivers: tuple[str, ...] = ()
    """What addresses in rows may be, beside public ones."""

    concurrency: int = 50
    """How many jobs of a project run at a time."""

    keep_seconds: float = 604_800.0
    """How long ended jobs and events are kept."""
