"""List the receivers of a project's webhooks."""

from __future__ import annotations

from bbops.base.json_deliveries import JsonReceiver
from bbops_server.process.messages.request import Answer, Request


class ReceiverList(Answer, frozen=True):
    """Receivers by webhook, without their secrets."""

    receivers: list[JsonReceiver]


class ListReceivers(Request[ReceiverList], frozen=True):
    """List the receivers of a project's webhooks."""

    project: str
    most: int = 100
    disabled: bool = False
    """Only those that are disabled."""
