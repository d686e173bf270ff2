"""The work of `bbops ci check`: validation, format and tests of a checkout.

It reads the files of the checkout and needs neither a server nor a secret, so it works for forks
and in merge queues.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Final

from bbops.base.diagnostics import Diagnostic, Place
from bbops.base.errors import BbopsError
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.base.render import Form, plural, printable, render
from bbops.compiler.check import validate
from bbops.compiler.check._supported import needs_base
from bbops.compiler.compile.release import Built, Cache, build
from bbops.compiler.testing import report as test_report
from bbops.compiler.testing.outcome import Outcome
from bbops.compiler.testing.running import Runner, choose
from bbops.edit.authoring.folder import Folder
from bbops.edit.authoring.formatting import format_file, is_resource
from bbops.interfaces.ci.comparing import find_target
from bbops.interfaces.ci.run import CiRun, project_name
from bbops.interfaces.ci.sections.check import MAX_FINDINGS, CheckReport
from bbops.language.project import Project
from bbops.source.tree import FolderTree, Tree

_OTHER_DATABASE: Final = "other-database"


@dataclass(frozen=True, slots=True)
class CheckedFolder:
    """The findings of `bbops ci check`; files are relative to the project's folder.

    Attributes:
        resources: the number of resources; 0 if the project has errors.
        diagnostics: of the project.
        unformatted: the files that `bbops fmt` would change.
        outcomes: one for each test case; None if the tests were left out.
    """

    resources: int
    diagnostics: tuple[Diagnostic, ...]
    unformatted: tuple[str, ...]
    outcomes: tuple[Outcome, ...] | None

    @property
    def failures(self) -> tuple[Outcome, ...]:
        """The failed test cases."""
        return tuple(outcome for outcome in self.outcomes or () if outcome.wrong)

    @property
    def findings(self) -> tuple[Diagnostic, ...]:
        """All findings as diagnostics: of the project, of its tests, of its format."""
        failed = chain.from_iterable(map(test_report.as_diagnostics, self.failures))
        return (*self.diagnostics, *failed, *map(_format_diagnostic, self.unformatted))


def check_folder(run: CiRun, folder: Path, *, has_tests: bool, database: str = "") -> CheckedFolder:
    """Check the files of a project's folder.

    Args:
        run: the run of the job; its target is the project before the change.
        folder: the project's folder.
        has_tests: whether the tests run, if the project has no errors.
        database: the URL of a PostgreSQL server for the tests; empty for SQLite.

    Raises:
        BbopsError: the tests need PostgreSQL, or a file cannot be read.
    """
    built = _build(run, folder, is_postgres=bool(database), has_tests=has_tests)
    outcomes = None
    if built.project is not None and has_tests:
        outcomes = tuple(_run_tests(built, built.project, database))
    size = built.project.size if built.project is not None else 0
    return CheckedFolder(size, built.diagnostics, tuple(find_unformatted(folder)), outcomes)


def _build(run: CiRun, folder: Path, *, is_postgres: bool, has_tests: bool) -> Built:
    """Validate the project as a change of its target; compile it if its tests run."""
    tree, cache = FolderTree(folder), Cache()

    def build_on(base: Tree | None) -> Built:
        if has_tests:
            return build(tree, cache, database="postgres" if is_postgres else "sqlite", base=base)
        return Built(*validate(tree, cache.checked, base=base))

    built = build_on(None)
    if needs_base(built.diagnostics):
        built = build_on(find_target(run, folder))
    if any(found.code == _OTHER_DATABASE for found in built.diagnostics):
        message = "the tests of this project need a PostgreSQL server"
        raise BbopsError(message, hint="give one with --database-url URL, or use --no-tests")
    return built


def _run_tests(built: Built, project: Project, database: str) -> Iterator[Outcome]:
    with Runner(built, database) as runner:
        for case in choose(project):
            yield asyncio.run(runner.run(case))


def find_unformatted(folder: Path) -> Iterator[str]:
    """Yield the files of a project that `bbops fmt` would change; not those with invalid YAML."""
    files = Folder(folder)
    for path, data in files.read([path for path in files.paths if is_resource(path)]).items():
        formatted = format_file(path, data)
        if not formatted.diagnostics and formatted.text.encode() != data:
            yield path


def _format_diagnostic(path: str) -> Diagnostic:
    message = "the file is not in the style of 'bbops fmt'"
    return Diagnostic(Place(path), "unformatted", message, f"bbops fmt {path}")


def make_report(checked: CheckedFolder, run: CiRun, folder: Path, under: str) -> CheckReport:
    """Return the result as it is written for `bbops ci report`.

    Args:
        checked: the findings.
        run: the run of the job.
        folder: the project's folder.
        under: the same folder, relative to the repository's root; empty for the root.
    """
    prefix = f"{under}/" if under else ""
    listed = map(JsonDiagnostic.of, checked.findings[:MAX_FINDINGS])
    count = [found.severity for found in checked.diagnostics].count
    return CheckReport(
        version=1,
        project=project_name(folder),
        commit=run.commit,
        resources=checked.resources,
        errors=count("error"),
        warnings=count("warning"),
        unformatted=len(checked.unformatted),
        tests=None if checked.outcomes is None else len(checked.outcomes),
        failed=len(checked.failures),
        findings=tuple(_moved(found, f"{prefix}{found.file}") for found in listed),
    )


def _moved(found: JsonDiagnostic, file: str) -> JsonDiagnostic:
    moved = replace(found.diagnostic(), place=Place(file, found.line, found.column))
    return JsonDiagnostic.of(moved)


def render_findings(checked: CheckedFolder, form: Form, under: str, *, color: bool = False) -> str:
    """Return all findings as text, annotations or SARIF.

    Text has the details of failed tests, and a line for each file to format.
    """
    if form != "text":
        return render(checked.findings, form, folder=under)
    prefix = f"{under}/" if under else ""
    lines = [render(checked.diagnostics, "text", folder=under, color=color)]
    lines += map(test_report.describe, checked.failures)
    if checked.outcomes:
        lines += [*test_report.by_file(checked.outcomes), test_report.summarize(checked.outcomes)]
    lines += [f"would format {printable(prefix + path)}" for path in checked.unformatted]
    if checked.unformatted:
        lines.append(f"{plural(len(checked.unformatted), 'file')} would change; run 'bbops fmt'")
    return "\n".join(filter(None, lines))


def as_junit(checked: CheckedFolder) -> bytes:
    """Return the test cases as JUnit XML; a document without suites if none ran."""
    outcomes: Sequence[Outcome] = checked.outcomes or ()
    return test_report.as_junit(outcomes)
