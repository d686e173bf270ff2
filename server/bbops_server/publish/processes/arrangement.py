"""Which projects answer, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bbops_server.process.messages.projects import ArrangeProjects, ProjectPlace
from bbops_server.settings import WorkSettings

_DEFAULT: Final = WorkSettings()


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Where projects answer, which proxies and hosts are allowed, and the limits of jobs."""

    places: Mapping[str, ProjectPlace]
    proxies: tuple[str, ...] = ()
    egress: tuple[str, ...] = ()
    receivers: tuple[str, ...] = ()
    work: WorkSettings = _DEFAULT

    def request(self) -> ArrangeProjects:
        """Return it as a request."""
        return ArrangeProjects(
            dict(self.places), tuple(self.proxies), tuple(self.egress), tuple(self.receivers),
            self.work.concurrency, self.work.keep_seconds,
        )  # fmt: skip
