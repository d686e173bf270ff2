"""The stored merge status of a proposal, shown after its end."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import msgspec
from msgspec import structs

from bbops.interfaces.answers import ProposalTestResult
from bbops.source.git.proposals import Proposal
from bbops_server.publish.proposals.merge_status import MergeStatus
from bbops_server.publish.proposals.rules import MergeRequirements, ReviewTally

MAX_BYTES: Final = 256 << 10
MAX_TEXT: Final = 32 << 10
MAX_DIAGNOSTICS: Final = 20
"""The diagnostics that are kept if all of them are too long."""

_EMPTY: Final = MergeStatus(None, MergeRequirements("", 0), ReviewTally((), (), ()))
_TOO_LONG: Final = replace(_EMPTY, text="how it stood was too long to keep")
_decode = msgspec.json.Decoder(MergeStatus).decode


def encode(merge_status: MergeStatus) -> str:
    """Return it as JSON of at most MAX_BYTES; a longer one is stored without its plan, then less.

    A shortened text is marked, and git has the whole diff.
    """
    short = _shorten(merge_status)
    shortest = replace(short, obstacles=(), others=())
    texts = map(_write, (merge_status, short, shortest))
    return next((text for text in texts if len(text.encode()) <= MAX_BYTES), _write(_TOO_LONG))


def _shorten(merge_status: MergeStatus) -> MergeStatus:
    others = (
        replace(
            part, plan=None, text=_cut(part.text), diagnostics=part.diagnostics[:MAX_DIAGNOSTICS],
            tests=_cut_tests(part.tests),
        )
        for part in merge_status.others
    )  # fmt: skip
    return replace(
        merge_status, plan=None, text=_cut(merge_status.text), tests=_cut_tests(merge_status.tests),
        diagnostics=merge_status.diagnostics[:MAX_DIAGNOSTICS], others=tuple(others),
    )  # fmt: skip


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}\n… cut, it was too long to keep"


def _cut_tests(tests: ProposalTestResult | None) -> ProposalTestResult | None:
    if tests is None:
        return None
    return structs.replace(tests, diagnostics=tests.diagnostics[:MAX_DIAGNOSTICS])


def _write(merge_status: MergeStatus) -> str:
    return msgspec.json.encode(merge_status).decode()


def read(text: str | None) -> MergeStatus:
    """Return a stored status; an empty one for None and for text of another version."""
    try:
        return _decode(text or "")
    except msgspec.DecodeError:
        return _EMPTY


def end(proposal: Proposal, stored: MergeStatus) -> MergeStatus:
    """Return the status of a merged or closed proposal, with its end as the obstacle."""
    return replace(stored, ended=proposal.state, obstacles=(f"it is {proposal.state}",))
