"""The part of a report about `bbops ci check`: diagnostics, files to format, and failed tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.base.render import plural
from bbops.interfaces.ci.results import ReportSection
from bbops.review.plan.render.markdown import code, escape

MAX_FINDINGS: Final = 500
"""The findings that a result lists; all are counted."""


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The result of `bbops ci check`.

    Attributes:
        resources: the number of resources; 0 if the project has errors.
        errors: the number of errors of the project.
        warnings: the number of its warnings.
        unformatted: the number of files that `bbops fmt` would change.
        tests: the number of test cases that ran; None if they were left out.
        failed: the number of failed test cases.
        findings: the first 500 of all of these; their files are relative to the repository's root.
    """

    version: Literal[1]
    project: str
    commit: str
    resources: int
    errors: int
    warnings: int
    unformatted: int
    tests: int | None
    failed: int
    findings: tuple[JsonDiagnostic, ...]

    @property
    def is_ok(self) -> bool:
        """Whether there are no errors, no failed tests and no files to format."""
        return not (self.errors or self.unformatted or self.failed)


RESULT: Final = CheckReport


def make_section(report: CheckReport) -> ReportSection:
    """Return the part of a report about a result."""
    return ReportSection(
        "Check", 1, report.is_ok, headline(report), report.project, report.commit,
        partial(render, report),
    )  # fmt: skip


def headline(report: CheckReport) -> str:
    """Return the result in one line, such as `2 errors, 1 of 7 tests failed`."""
    return ", ".join(_counts(report))


def _counts(report: CheckReport) -> Iterator[str]:
    if report.is_ok and not report.warnings:
        yield f"no problems in {plural(report.resources, 'resource')}"
    for count, word in ((report.errors, "error"), (report.warnings, "warning")):
        if count:
            yield plural(count, word)
    if report.unformatted:
        yield f"{plural(report.unformatted, 'file')} to format"
    if report.failed:
        yield f"{report.failed} of {plural(report.tests or 0, 'test')} failed"
    elif report.tests:
        yield f"{plural(report.tests, 'test')} passed"
    elif report.tests is None:
        yield "tests not run"


def render(report: CheckReport, rows: int) -> Iterator[str]:
    """Yield the findings as a table in Markdown, with at most `rows` rows."""
    if not report.findings:
        return
    total = max(report.errors + report.warnings + report.unformatted, len(report.findings))
    shown = report.findings[:rows]
    lines = ["| | where | problem |", "| --- | --- | --- |", *map(_row, shown)]
    if total > len(shown):
        lines.append(f"| | | and {total - len(shown)} more |")
    yield "\n".join(lines)


def _row(finding: JsonDiagnostic) -> str:
    cells: Sequence[str] = (
        f"**{finding.severity}**" if finding.severity == "error" else finding.severity,
        code(f"{finding.file}:{finding.line}"),
        f"{escape(finding.message)} {code(finding.code)}"
        + (f"<br>{escape(finding.hint)}" if finding.hint else ""),
    )
    return f"| {' | '.join(cells)} |"
