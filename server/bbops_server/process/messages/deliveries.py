"""Webhook deliveries and receivers of a project."""

from __future__ import annotations

from bbops.base.json_work import Delivery, DeliveryStory, JsonReceiver
from bbops_server.process.messages.request import AnswerMessage, RequestMessage


class ListDeliveriesAnswer(AnswerMessage, frozen=True):
    """Deliveries, newest first."""

    deliveries: list[Delivery]


class ListDeliveries(RequestMessage[ListDeliveriesAnswer], frozen=True):
    """List received and sent deliveries."""

    project: str
    direction: str = ""
    """`received` or `sent`; empty for both."""

    most: int = 100


class ShowDeliveryAnswer(AnswerMessage, frozen=True):
    """A delivery's record; None if it does not exist."""

    story: DeliveryStory | None


class ShowDelivery(RequestMessage[ShowDeliveryAnswer], frozen=True):
    """Show a delivery's record."""

    project: str
    delivery: str


class RepeatDeliveryAnswer(AnswerMessage, frozen=True):
    """The new job; empty if the delivery does not exist."""

    job: str


class RepeatDelivery(RequestMessage[RepeatDeliveryAnswer], frozen=True):
    """Replay a received delivery, or resend a sent one."""

    project: str
    delivery: str


class ReceiverList(AnswerMessage, frozen=True):
    """Receivers by webhook, without their secrets."""

    receivers: list[JsonReceiver]


class ListReceivers(RequestMessage[ReceiverList], frozen=True):
    """List the receivers of a project's webhooks."""

    project: str
    most: int = 100
    disabled: bool = False
    """List disabled receivers only."""


class EnableReceiverAnswer(AnswerMessage, frozen=True):
    """Whether the receiver was disabled."""

    is_changed: bool


class EnableReceiver(RequestMessage[EnableReceiverAnswer], frozen=True):
    """Enable a disabled receiver."""

    project: str
    webhook: str
    receiver: str
