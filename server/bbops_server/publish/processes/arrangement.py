"""Which projects answer, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bbops_server.process.messages.projects import ArrangeProjects, ProjectPlace


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Which projects answer and where, whose word about clients is taken, and who may be asked."""

    places: Mapping[str, ProjectPlace]
    proxies: tuple[str, ...] = ()
    egress: tuple[str, ...] = ()
    receivers: tuple[str, ...] = ()

    def request(self) -> ArrangeProjects:
        """Return it as a request."""
        return ArrangeProjects(
            dict(self.places), tuple(self.proxies), tuple(self.egress), tuple(self.receivers)
        )
