"""Ask whether the history of a commit holds another one."""

from __future__ import annotations

from bbops_server.process.messages.request import Answer, Request


class Descent(Answer, frozen=True):
    """Whether it does; not where `old` is gone."""

    descends: bool


class CheckDescent(Request[Descent], frozen=True):
    """Ask whether the history of a commit holds another one."""

    repository: str
    old: str
    new: str
