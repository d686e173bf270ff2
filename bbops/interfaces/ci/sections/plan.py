"""The part of a report about `bbops ci plan`: the effects of the change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

from bbops.interfaces.ci.results import ReportSection
from bbops.review.plan.plan import Document
from bbops.review.plan.render.markdown import MARK, code, render_parts
from bbops.review.plan.render.phrases import summary

NEW: Final = "the project is new: there is nothing to compare it with"


@dataclass(frozen=True, slots=True)
class PlanReport:
    """The result of `bbops ci plan`.

    Attributes:
        conflicts: the files that block the merge, relative to the repository's root. If there are
            any, the plan ignores the changes of the target since the change began.
        document: the plan; None if the project is new.
    """

    version: Literal[1]
    project: str
    commit: str
    conflicts: tuple[str, ...]
    document: Document | None


RESULT: Final = PlanReport


def make_section(report: PlanReport) -> ReportSection:
    """Return the part of a report about a result."""
    return ReportSection(
        "Plan", 2, not report.conflicts, headline(report), report.project, report.commit,
        partial(render, report),
    )  # fmt: skip


def headline(report: PlanReport) -> str:
    """Return the plan in one line, such as `1 break, 3 routes`."""
    text = summary(report.document.plan) if report.document else NEW
    return f"merge conflict; {text}" if report.conflicts else text


def render(report: PlanReport, rows: int) -> Iterator[str]:
    """Yield the blocks of the plan in Markdown, with at most `rows` rows in each table."""
    if report.conflicts:
        more = len(report.conflicts) - rows
        files = "\n".join(f"- {code(path)}" for path in report.conflicts[:rows])
        yield "**The change cannot be merged.** Both sides have changed these files:"
        yield f"{files}\n- and {more} more" if more > 0 else files
        yield "The plan below ignores what the target has changed since then."
    if report.document:
        title = f"### {summary(report.document.plan)}"
        parts = render_parts(report.document, rows)
        yield from (part for part in parts if part not in {MARK, title})
    else:
        yield f"{NEW[:1].upper()}{NEW[1:]}."
