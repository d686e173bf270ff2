"""The work of `bbops ci plan`: the effects of the change that a CI job is about."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Final

from bbops.base.diagnostics import Diagnostic, has_errors
from bbops.base.errors import GitError, ProjectError
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.base.render import plural, printable, render
from bbops.compiler.check import Cache, CheckedProject, validate
from bbops.interfaces.ci.comparing import ChangeSides, JobCheckout, compare_change
from bbops.interfaces.ci.report import render_section
from bbops.interfaces.ci.results import ReportSection
from bbops.interfaces.ci.run import CiRun, project_name
from bbops.interfaces.ci.sections.check import MAX_FINDINGS, CheckReport
from bbops.interfaces.ci.sections.check import render as render_check
from bbops.interfaces.ci.sections.plan import NEW, PlanReport, make_section
from bbops.review.plan.plan import Document, Plan, describe, plan
from bbops.review.plan.render.phrases import revision
from bbops.review.plan.render.text import render_text
from bbops.runtime.work.engine import now_ms
from bbops.source.tree import Tree

_ROWS: Final = 1_000


class InvalidRevision(ProjectError):
    """A project of a plan has errors."""

    def __init__(self, revision: str, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__(diagnostics)
        self.revision = revision


def describe_errors(error: InvalidRevision) -> str:
    """Return the errors of a project as text, with its revision."""
    head = f"{revision(error.revision)} has errors, so nothing can be compared:"
    return "\n".join([printable(head), render(error.diagnostics, "text")])


def render_markdown_errors(error: InvalidRevision, project: str) -> str:
    """Return the errors of a project as Markdown for the summary of the step."""
    found = tuple(map(JsonDiagnostic.of, error.diagnostics[:MAX_FINDINGS]))
    errors = sum(each.severity == "error" for each in error.diagnostics)
    warnings = len(error.diagnostics) - errors
    report = CheckReport(1, project, "", 0, errors, warnings, 0, None, 0, found)
    headline = f"{revision(error.revision)} has errors, so nothing can be compared"
    section = ReportSection("Plan", 2, False, headline, project, "", partial(render_check, report))  # noqa: FBT003
    return render_section(section, _ROWS) + "\n"


SEVERITIES: Final[dict[str, Callable[[Plan], int]]] = {
    "breaking": lambda changes: len(changes.breaks),
    "access": lambda changes: len(changes.access),
    "destructive": lambda changes: sum(table.risk == "destructive" for table in changes.tables),
    "depends": lambda changes: sum(table.risk == "depends" for table in changes.tables),
    "refused": lambda changes: len(changes.verdict.refused),
}
"""The number of changes of each severity: an output of the step, and a value of `--fail-on`."""


def make_plan(run: CiRun, checkout: JobCheckout, *, base: str = "", commit: str = "") -> PlanReport:
    """Return the plan of the change that a CI job is about.

    Args:
        run: the run of the job.
        checkout: its repository.
        base: the revision that the user chose to compare with.
        commit: the revision of the change that the user chose.

    Raises:
        GitError: a commit is missing.
        ProjectError: one of the two projects has errors.
    """
    try:
        sides = compare_change(run, checkout, base=base, commit=commit)
        document = _document(sides)
    except GitError as error:
        if "promisor" not in error.message:
            raise
        hint = "clone without a filter: leave 'filter' out of the checkout"
        raise GitError("this clone lacks files of older commits", hint=hint) from None
    return PlanReport(1, project_name(checkout.folder), sides.commit, sides.conflicts, document)


def outputs_of(report: PlanReport) -> dict[str, object]:
    """Return the outputs of the step: the digest of the plan, and numbers of its changes.

    `changes` counts resources; it is 1 for a new project.
    """
    document = report.document
    if document is None:
        return {"plan-hash": "", "changes": 1, **dict.fromkeys(SEVERITIES, 0), "approvals": 0}
    changes = max(len(document.plan.resources), int(document.changes))
    counts = {name: count(document.plan) for name, count in SEVERITIES.items()}
    approvals = document.plan.verdict.approvals
    return {"plan-hash": document.digest, "changes": changes, **counts, "approvals": approvals}


def render_report(report: PlanReport, *, color: bool) -> str:
    """Return the report as text, without a last line break."""
    lines = [f"{path}: merge conflict" for path in map(printable, report.conflicts)]
    if report.conflicts:
        lines += [
            f"the change cannot be merged: {plural(len(report.conflicts), 'file')} in conflict",
            "the plan below ignores what the target has changed since then",
            "",
        ]
    lines.append(render_text(report.document, color=color) if report.document else NEW)
    return "\n".join(lines)


def render_markdown_report(report: PlanReport) -> str:
    """Return the report as Markdown for a file."""
    return render_section(make_section(report), _ROWS) + "\n"


def failed_severities(report: PlanReport, chosen: Collection[str]) -> list[str]:
    """Return the chosen severities of which the plan has changes."""
    if report.document is None:
        return []
    changes = report.document.plan
    return [name for name in SEVERITIES if name in chosen and SEVERITIES[name](changes)]


def _document(sides: ChangeSides) -> Document | None:
    base, head = sides.base, sides.head
    if base is None or not _is_project(base):
        return None
    cache = Cache()
    before, after = _check(base, cache, base), _check(head, cache, base)
    return describe(plan(before, after, now=now_ms()), base, head)


def _is_project(tree: Tree) -> bool:
    return any(entry.path == "project.yaml" for entry in tree.entries())


def _check(tree: Tree, cache: Cache, base: Tree) -> CheckedProject:
    project, diagnostics = validate(tree, cache, base=base)
    if project is None or has_errors(diagnostics):
        raise InvalidRevision(tree.revision, diagnostics)
    return project
