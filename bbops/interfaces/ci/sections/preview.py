"""The part of a report about `bbops ci preview`: the address of the proposal's draft."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from bbops.interfaces.ci.results import ReportSection
from bbops.review.plan.render.markdown import escape


@dataclass(frozen=True, slots=True)
class PreviewResult:
    """The result of `bbops ci preview`.

    Attributes:
        state: "live", "failed" or "removed".
        url: the address of the draft; empty without one.
        message: the reason for a failure; else empty.
    """

    project: str
    commit: str
    state: str
    url: str = ""
    message: str = ""


def read(data: bytes) -> ReportSection:
    """Return the part of the report for a result.

    Raises:
        msgspec.DecodeError: the result is not valid.
    """
    result = msgspec.json.decode(data, type=PreviewResult)

    def details(_rows: int) -> Iterator[str]:
        if result.message:
            yield escape(result.message)

    headline = " ".join(filter(None, (result.state, result.url)))
    return ReportSection(
        "Preview", 3, result.state != "failed", headline, result.project, result.commit, details
    )
