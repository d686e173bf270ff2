"""The part of a report about `bbops ci preview`: the address of the proposal's draft."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

from bbops.interfaces.ci.environments._values import read_address
from bbops.interfaces.ci.results import ReportSection
from bbops.review.plan.render.markdown import code, escape


@dataclass(frozen=True, slots=True)
class PreviewReport:
    """The result of `bbops ci preview`.

    Attributes:
        state: "live", "failed" or "removed".
        url: the address of the draft; empty without one.
        message: the reason for a failure; else empty.
    """

    project: str
    commit: str
    state: Literal["live", "failed", "removed"]
    url: str = ""
    message: str = ""


RESULT: Final = PreviewReport


def make_section(result: PreviewReport) -> ReportSection:
    """Return the part of a report about a result."""
    return ReportSection(
        "Preview", 3, result.state != "failed", result.state, result.project, result.commit,
        partial(render, result),
    )  # fmt: skip


def render(result: PreviewReport, _rows: int) -> Iterator[str]:
    """Yield the blocks of the preview in Markdown."""
    if result.url:
        is_link = read_address(result.url) and "(" not in result.url
        yield f"<{result.url}>" if is_link else code(result.url)
    if result.message:
        yield escape(result.message)
