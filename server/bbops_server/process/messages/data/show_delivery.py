"""Say all that is kept of a delivery."""

from __future__ import annotations

from bbops.base.json_deliveries import DeliveryStory
from bbops_server.process.messages.request import Answer, Request


class ShownDelivery(Answer, frozen=True):
    """What is kept of a delivery; None where there is none of the name."""

    story: DeliveryStory | None


class ShowDelivery(Request[ShownDelivery], frozen=True):
    """Say all that is kept of a delivery."""

    project: str
    delivery: str
