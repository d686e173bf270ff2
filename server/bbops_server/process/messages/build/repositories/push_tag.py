"""Push a tag to where a mirror comes from."""

from __future__ import annotations

from bbops_server.process.messages.request import Done, Request


class PushTag(Request[Done], frozen=True):
    """Push a tag to where a mirror comes from."""

    url: str
    mirror: str
    tag: str
