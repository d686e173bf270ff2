"""How a proposal stood when it was looked at last: kept for who reads it after its end."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import msgspec

from bbops.git.proposals import Proposal
from bbops_server.forge.rules import Demands, Voices
from bbops_server.forge.standing import Standing

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


def end(proposal: Proposal, kept: Standing) -> Standing:
    """Return how a merged or closed proposal stood before that."""
    return replace(kept, ended=proposal.state, obstacles=(f"it is {proposal.state}",))
