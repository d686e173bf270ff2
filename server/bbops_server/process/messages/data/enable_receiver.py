"""Let a receiver be told again."""

from __future__ import annotations

from bbops_server.process.messages.request import Answer, Request


class Enabled(Answer, frozen=True):
    """Whether the receiver was disabled."""

    is_changed: bool


class EnableReceiver(Request[Enabled], frozen=True):
    """Let a receiver be told again."""

    project: str
    webhook: str
    receiver: str
