"""Functions: every name, type, table, column and function in their steps."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.base.diagnostics import Diagnostic
from bbops.compiler.check._checked import CheckedProject


def check(project: CheckedProject) -> Iterator[Diagnostic]:
    """Yield the mistakes of every function."""
    for name in project.functions:
        yield from project.flows.of(name).diagnostics
