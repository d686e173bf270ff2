"""List what a project has received from other services, and what it has sent."""

from __future__ import annotations

from bbops.base.json_deliveries import Delivery
from bbops_server.process.messages.request import Answer, Request


class Deliveries(Answer, frozen=True):
    """Deliveries, the newest first."""

    deliveries: list[Delivery]


class ListDeliveries(Request[Deliveries], frozen=True):
    """List what a project has received from other services, and what it has sent."""

    project: str
    direction: str = ""
    """`received` or `sent`; empty for both."""

    most: int = 100
