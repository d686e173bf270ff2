"""API keys of a project, and connection tests of its addons."""

from __future__ import annotations

from typing import Any

from bbops_server.process.messages.request import AnswerMessage, RequestMessage


class ListKeysAnswer(AnswerMessage, frozen=True):
    """Metadata of each key, never the key itself."""

    keys: list[dict[str, Any]]


class ListKeys(RequestMessage[ListKeysAnswer], frozen=True):
    """List the API keys of a project, newest first."""

    project: str


class KeyAnswer(AnswerMessage, frozen=True):
    """A new key's id, and the key itself, which is shown once."""

    id: str
    key: str


class IssueKey(RequestMessage[KeyAnswer], frozen=True):
    """Create an API key."""

    project: str
    name: str
    channels: list[str]
    """Empty for all channels."""

    expires_in: str | None
    claims: dict[str, Any]


class RotateKey(RequestMessage[KeyAnswer], frozen=True):
    """Replace an API key by a new one."""

    project: str
    key: str
    """The id of the old key."""

    overlap: str
    """The time for which both keys are valid."""


class RevokeKeyAnswer(AnswerMessage, frozen=True):
    """The id of the revoked key."""

    id: str


class RevokeKey(RequestMessage[RevokeKeyAnswer], frozen=True):
    """Revoke an API key."""

    project: str
    key: str


# ---- Connection tests of addons


class TryAddonAnswer(AnswerMessage, frozen=True):
    """The result of a test, as in `bbops.base.json_work`."""

    state: str
    text: str


class TryAddon(RequestMessage[TryAddonAnswer], frozen=True):
    """Test the connection of an addon with the live release's settings and values."""

    project: str
    addon: str
