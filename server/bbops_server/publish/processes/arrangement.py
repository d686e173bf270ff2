"""The projects that data processes serve, and their addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bbops_server.process.messages.projects import ArrangeProjects, ProjectPlace
from bbops_server.publish.processes.playground_key import PLAYGROUND_KEY
from bbops_server.settings import WorkSettings

_DEFAULT: Final = WorkSettings()


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The served projects, and the server's settings for requests.

    Attributes:
        places: addresses by project.
        proxies: proxies whose forwarded headers are trusted.
        egress: private hosts that functions may reach.
        receivers: private hosts that webhook receivers may have.
        work: the limits of jobs.
    """

    places: Mapping[str, ProjectPlace]
    proxies: tuple[str, ...] = ()
    egress: tuple[str, ...] = ()
    receivers: tuple[str, ...] = ()
    work: WorkSettings = _DEFAULT

    def request(self) -> ArrangeProjects:
        """Return the request that sends it to a data process."""
        return ArrangeProjects(
            dict(self.places), tuple(self.proxies), tuple(self.egress), tuple(self.receivers),
            self.work.concurrency, self.work.keep_seconds, PLAYGROUND_KEY.hex(),
        )  # fmt: skip
