"""How a proposal stood when it was looked at last: kept for who reads it after its end."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import msgspec
from msgspec import structs

from bbops.interfaces.answers import ProposalTestResult
from bbops.source.git.proposals import Proposal
from bbops_server.publish.proposals.merge_status import MergeStatus
from bbops_server.publish.proposals.rules import Demands, Voices

MOST_BYTES: Final = 256 << 10
MOST_TEXT: Final = 32 << 10
MOST_FOUND: Final = 20
"""Mistakes that are kept where all of them would be too long."""

_NOTHING: Final = MergeStatus(None, Demands("", 0), Voices((), (), ()))
_TOO_LONG: Final = replace(_NOTHING, text="how it stood was too long to keep")
_decode = msgspec.json.Decoder(MergeStatus).decode


def encode(merge_status: MergeStatus) -> str:
    """Return it as JSON of at most MOST_BYTES: what is longer loses its document, then more.

    What is left out says so, and the diff is in git in any case.
    """
    short = _shorten(merge_status)
    told = (_write(one) for one in (merge_status, short, replace(short, obstacles=(), others=())))
    return next((one for one in told if len(one.encode()) <= MOST_BYTES), _write(_TOO_LONG))


def _shorten(merge_status: MergeStatus) -> MergeStatus:
    others = (replace(one, plan=None, text=_cut(one.text), diagnostics=one.diagnostics[:MOST_FOUND],
                      tests=_cut_tests(one.tests)) for one in merge_status.others)  # fmt: skip
    return replace(
        merge_status, plan=None, text=_cut(merge_status.text), tests=_cut_tests(merge_status.tests),
        diagnostics=merge_status.diagnostics[:MOST_FOUND], others=tuple(others),
    )  # fmt: skip


def _cut(text: str) -> str:
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}\n… cut, it was too long to keep"


def _cut_tests(tests: ProposalTestResult | None) -> ProposalTestResult | None:
    return structs.replace(tests, diagnostics=tests.diagnostics[:MOST_FOUND]) if tests else None


def _write(merge_status: MergeStatus) -> str:
    return msgspec.json.encode(merge_status).decode()


def read(kept: str | None) -> MergeStatus:
    """Return what `encode` has made; of None, or what another version has made, nothing is said."""
    try:
        return _decode(kept or "")
    except msgspec.DecodeError:
        return _NOTHING


def end(proposal: Proposal, kept: MergeStatus) -> MergeStatus:
    """Return how a merged or closed proposal stood before that."""
    return replace(kept, ended=proposal.state, obstacles=(f"it is {proposal.state}",))
