"""Connection tests of addons."""

from __future__ import annotations

from bbops_server.process.messages.request import AnswerMessage, RequestMessage


class TryAddonAnswer(AnswerMessage, frozen=True):
    """The result of a test, as in `bbops.base.json_work`."""

    state: str
    text: str


class TryAddon(RequestMessage[TryAddonAnswer], frozen=True):
    """Test the connection of an addon with the live release's settings and values."""

    project: str
    addon: str
