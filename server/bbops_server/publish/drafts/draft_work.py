"""What a draft does outside of requests: its jobs, deliveries and events."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bbops_server.publish.processes.addons import ProjectAddons
from bbops_server.publish.processes.deliveries import ProjectDeliveries
from bbops_server.publish.processes.events import ProjectEvents
from bbops_server.publish.processes.jobs import ProjectJobs
from bbops_server.publish.processes.plane import Plane


@dataclass(frozen=True, slots=True)
class DraftWork:
    """Asks the process of a draft, which is woken for it.

    Attributes:
        project: the name that the draft has in its process.
        ready: returns when the draft is awake.
    """

    plane: Plane
    project: str
    ready: Callable[[], Awaitable[None]]

    @property
    def addons(self) -> ProjectAddons:
        """Its addons."""
        return ProjectAddons(self.plane, self.project, self.ready)

    @property
    def jobs(self) -> ProjectJobs:
        """Its jobs."""
        return ProjectJobs(self.plane, self.project, self.ready)

    @property
    def deliveries(self) -> ProjectDeliveries:
        """Its deliveries, and the receivers that it would send to."""
        return ProjectDeliveries(self.plane, self.project, self.ready)

    @property
    def events(self) -> ProjectEvents:
        """Its events."""
        return ProjectEvents(self.plane, self.project, self.ready)
