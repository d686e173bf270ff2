"""Test files, with their cases."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.compiler.check import CheckedProject
from bbops.review.outline.outline import CaseOutline, TestOutline
from bbops.review.outline.relations import target_of


def outline_tests(project: CheckedProject) -> Iterator[TestOutline]:
    """Yield the test files of a project by name."""
    for name, test in sorted(project.tests.items()):
        kind, target = target_of(test.model)
        cases = (
            CaseOutline(case.name, test.place("cases", at).line)
            for at, case in enumerate(test.model.cases)
        )
        about = (test.model.description or "").strip()
        yield TestOutline(name, test.file, 1, about, kind, target, tuple(cases))
