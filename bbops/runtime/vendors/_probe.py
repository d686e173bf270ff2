"""Test the connection of an addon: a read that its vendor has, and what came of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Literal

from bbops.runtime.values.failures import Failure, HttpFailure
from bbops.runtime.vendors._work import AddonFailure, Work

Probe = Callable[[Work], Awaitable[str]]
"""Asks its vendor; returns as whom it works, empty where the vendor does not say."""

State = Literal["works", "untested", "refused", "lacks", "unreachable", "failed"]
_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403
_LACKS: Final = frozenset({"addon-config", "addon-lacks", "addon-needs", "addon-not-installed"})


class AtServer(Exception):
    """What the addon does is done by a server alone, and there is none here."""


@dataclass(frozen=True, slots=True)
class Connection:
    """What came of a test, in words for people; never a secret."""

    state: State
    text: str

    @property
    def works(self) -> bool:
        """Whether its steps may be used."""
        return self.state == "works"

    @property
    def is_wrong(self) -> bool:
        """Whether somebody has to do something about it."""
        return self.state not in {"works", "untested"}


async def try_connection(work: Work, probe: Probe) -> Connection:
    """Return whether an addon works with its settings. Changes nothing at the vendor."""
    try:
        name = await probe(work)
    except AtServer as reason:
        return Connection("untested", str(reason))
    except HttpFailure as failure:
        return _judge(failure)
    except AddonFailure as failure:
        return Connection("lacks" if failure.code in _LACKS else "failed", failure.message)
    except Failure as failure:
        return Connection("failed", failure.message)
    return Connection("works", f"works as {name[:100]}" if name else "works")


def _judge(failure: HttpFailure) -> Connection:
    if failure.answered == _UNAUTHORIZED:
        return Connection("refused", f"the key is wrong: {failure.message}")
    if failure.answered == _FORBIDDEN:
        return Connection("lacks", f"the key lacks a right: {failure.message}")
    if failure.answered is None:
        return Connection("unreachable", f"cannot be reached: {failure.message}")
    return Connection("failed", failure.message)
