"""How a proposal stood when it was looked at last: kept for who reads it after its end."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import msgspec

from bbops.git.proposals import Proposal
from bbops_server.forge.rules import Demands, Voices
from bbops_server.forge.standing import Standing
from bbops_server.forge.trials import Tests

NEVER_OVER: Final = Tests("unknown", "its tests were still running then")
"""Of tests that ended with a server, or with a proposal that was closed."""

_NOTHING: Final = Standing(None, Demands("", 0), Voices((), (), ()))
_decode = msgspec.json.Decoder(Standing).decode


def encode(standing: Standing) -> str:
    """Return it as JSON."""
    return msgspec.json.encode(standing).decode()


def read(kept: str | None) -> Standing:
    """Return what `encode` has made; of None, or what another version has made, nothing is said."""
    try:
        return _decode(kept or "")
    except msgspec.DecodeError:
        return _NOTHING


def end(proposal: Proposal, kept: Standing, tests: Tests | None) -> Standing:
    """Return how a merged or closed proposal stood; `tests` are what those have said since."""
    return replace(
        kept, ended=proposal.state, obstacles=(f"it is {proposal.state}",),
        tests=kept.tests and (tests or NEVER_OVER),
    )  # fmt: skip
