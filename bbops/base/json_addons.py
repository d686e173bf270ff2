"""Addons of a project as JSON: what a server says of them, and the command line reads."""

from __future__ import annotations

import msgspec


class TestedAddon(msgspec.Struct, frozen=True):
    """What came of a test of an addon's connection, in words for people; never a secret.

    `state` is `works`, `untested`, `refused` (the key is wrong), `lacks` (a value, or a right),
    `unreachable` or `failed`.
    """

    addon: str
    state: str
    text: str

    @property
    def is_wrong(self) -> bool:
        """Whether somebody has to do something about it."""
        return self.state not in {"works", "untested"}
