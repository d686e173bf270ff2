"""The projects that data processes serve, and their addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bbops_server.process.messages.projects import ArrangeProjects, ProjectPlace


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The served projects, and the server's settings for requests.

    Attributes:
        places: addresses by project.
        proxies: proxies whose forwarded headers are trusted.
        egress: private hosts that functions may reach.
        receivers: private hosts that webhook receivers may have.
    """

    places: Mapping[str, ProjectPlace]
    proxies: tuple[str, ...] = ()
    egress: tuple[str, ...] = ()
    receivers: tuple[str, ...] = ()

    def request(self) -> ArrangeProjects:
        """Return the request that sends it to a data process."""
        return ArrangeProjects(
            dict(self.places), tuple(self.proxies), tuple(self.egress), tuple(self.receivers)
        )
