"""The statuses, the comment and the deployment that a pull request should have. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.base.render import plural
from bbops.interfaces.ci.report import ReportDocument, make_document, render_section
from bbops.interfaces.ci.results import ReportSection
from bbops.interfaces.ci.sections import check as check_section
from bbops.interfaces.ci.sections import plan as plan_section
from bbops.interfaces.ci.sections import preview as preview_section
from bbops.review.plan.render.markdown import escape
from bbops.review.plan.render.phrases import summary
from bbops_server.forges.values import CheckState, Deployment, StatusReport
from bbops_server.publish.pull_requests.effects import PullEffect

MAX_SUMMARY: Final = 140
"""The limit of GitHub for a status."""

MAX_FINDINGS: Final = 200
_ROWS: Final = 50
_FORK: Final = "from a fork: tests and preview wait until a maintainer allows this commit"


@dataclass(frozen=True, slots=True)
class PullPreview:
    """The draft of a pull request.

    Attributes:
        url: its address; empty without a draft.
        problem: why it does not work; empty if it works, or was not built yet.
    """

    url: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class PullPlace:
    """The project, as a pull request of its repository names it.

    Attributes:
        folder: in the repository; empty for the root.
        page: an address with details of the server.
    """

    project: str
    folder: str = ""
    page: str = ""

    def name(self, what: str) -> str:
        """Return the name of a check or an environment, unique in the repository."""
        return f"{what} ({self.project})" if self.folder else what


@dataclass(frozen=True, slots=True)
class DesiredPull:
    """The state that a pull request should have on its forge.

    Attributes:
        is_commented: whether it gets the comment, which an earlier comment gets in any case.
        preview: None without a preview.
    """

    check: StatusReport
    plan: StatusReport
    comment: ReportDocument
    is_commented: bool
    preview: Deployment | None

    @property
    def is_ok(self) -> bool:
        """Whether both statuses are a success."""
        return self.check.state == self.plan.state == "success"

    @property
    def reason(self) -> str:
        """The first line of why a status is a failure; empty if both are a success."""
        if self.is_ok:
            return ""
        if self.check.state == "success":
            return self.plan.summary
        summary = self.check.summary
        errors = (found for found in self.check.findings if found.severity == "error")
        first = next(errors, None)
        if first is None or first.message in summary:  # the result of tests names its first failure
            return summary
        return f"{summary}: {first.file}:{first.line}: {first.message}".splitlines()[0]


def make_desired(
    number: int, effect: PullEffect, preview: PullPreview, place: PullPlace, *, runs: bool
) -> DesiredPull:
    """Return the desired state of a pull request.

    Args:
        number: its number.
        effect: the effect of its merge.
        preview: its draft.
        place: the project.
        runs: whether its code runs on this server.
    """
    findings = tuple(_findings(effect, place.folder))
    checked = _check_section(effect, findings, place, runs=runs)
    planned = _plan_section(effect, place)
    sections = [checked, planned]
    if preview.url:
        result = preview_section.PreviewReport(
            place.project, effect.head, "failed" if preview.problem else "live", preview.url,
            preview.problem,
        )  # fmt: skip
        sections.append(preview_section.make_section(result))
    environment = place.name(f"preview/{number}")
    works = preview.url and effect.is_changed and not (effect.errors or effect.problem)
    return DesiredPull(
        _status("bbops/check", checked, place, findings),
        _status("bbops/plan", planned, place),
        make_document(sections, place.folder, marker="bbops"),
        effect.is_changed,
        Deployment(environment, effect.head, True, preview.url) if works else None,  # noqa: FBT003
    )


def digest(status: StatusReport | Deployment) -> str:
    """Return a digest of a state, which changes with it."""
    return hashlib.sha256(msgspec.json.encode(status)).hexdigest()[:32]


def _status(
    name: str, section: ReportSection, place: PullPlace, findings: tuple[JsonDiagnostic, ...] = ()
) -> StatusReport:
    state: CheckState = "success" if section.is_ok else "failure"
    text = render_section(section, _ROWS)
    return StatusReport(
        section.commit, place.name(name), state, _short(section.headline), place.page, text,
        findings[:MAX_FINDINGS],
    )  # fmt: skip


def _short(text: str) -> str:
    return text if len(text) <= MAX_SUMMARY else f"{text[: MAX_SUMMARY - 1]}…"


def _findings(effect: PullEffect, folder: str) -> Iterator[JsonDiagnostic]:
    """Yield the diagnostics and the failures of tests, with files from the repository's root."""
    prefix = f"{folder}/" if folder else ""
    failures = effect.tests.diagnostics if effect.tests is not None else ()
    for found in (*effect.diagnostics, *failures):
        yield msgspec.structs.replace(found, file=f"{prefix}{found.file}")


def _check_section(
    effect: PullEffect, findings: tuple[JsonDiagnostic, ...], place: PullPlace, *, runs: bool
) -> ReportSection:
    tests = effect.tests
    ran = tests.passed + tests.failed if tests is not None else None
    warnings = sum(found.severity == "warning" for found in effect.diagnostics)
    report = check_section.CheckReport(
        1, place.project, effect.head, 0, effect.errors, warnings, 0, ran,
        tests.failed if tests is not None else 0, findings[: check_section.MAX_FINDINGS],
    )  # fmt: skip
    section = check_section.make_section(report)
    is_unknown = bool(effect.problem or effect.conflicts)
    is_ok = section.is_ok and not (is_unknown or (tests is not None and tests.blocks_merge))
    headline = "; ".join(_check_headline(effect, section, runs=runs))
    return replace(section, is_ok=is_ok, headline=headline)


def _check_headline(effect: PullEffect, section: ReportSection, *, runs: bool) -> Iterator[str]:
    if effect.problem or effect.conflicts or not effect.is_changed:
        yield from _unknown(effect)
    elif effect.diagnostics:
        yield section.headline
    elif effect.tests is not None:
        yield effect.tests.summary
    else:
        yield "no problems"
    if not runs and effect.is_changed and not effect.errors:
        yield _FORK


def _unknown(effect: PullEffect) -> Iterator[str]:
    """Yield why there is nothing to say about a change."""
    if effect.problem:
        yield f"it cannot be checked: {effect.problem}"
    elif effect.conflicts:
        yield f"merge conflict in {plural(len(effect.conflicts), 'file')}"
    elif not effect.is_changed:
        yield "nothing changes in this project"


def _plan_section(effect: PullEffect, place: PullPlace) -> ReportSection:
    report = plan_section.PlanReport(
        1, place.project, effect.head, effect.conflicts, effect.document
    )
    blocked = (*_unknown(effect), *effect.refused) if effect.is_changed else ()
    document = effect.document
    without = "the plan cannot be made" if effect.errors else "nothing to compare it with"
    planned = summary(document.plan) if document is not None else without
    headline = "; ".join(_unknown(effect)) or planned
    if effect.refused:
        headline += f"; it would not go live: {effect.refused[0]}"
    is_ok = not blocked and not effect.errors

    def details(rows: int) -> Iterator[str]:
        yield from (f"**It would not go live:** {escape(why)}" for why in effect.refused[:rows])
        if document is not None or effect.conflicts:
            yield from plan_section.render(report, rows)

    return ReportSection(
        "Plan", 2, is_ok, headline, place.project, effect.head, details,
    )  # fmt: skip
