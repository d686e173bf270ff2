"""The tables that a function reads and writes by its own steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from bbops.compiler.check import CheckedProject
from bbops.language.steps._base import Step
from bbops.language.steps.delete import Delete
from bbops.language.steps.find import Find
from bbops.language.steps.insert import Insert
from bbops.language.steps.sql import Sql
from bbops.language.steps.update import Update

_INTO: Final = frozenset({"into", "update"})
"""Words of SQL before the name of a table that is written."""


@dataclass(frozen=True, slots=True)
class TableUses:
    """Names of tables, sorted."""

    reads: tuple[str, ...]
    writes: tuple[str, ...]


def find_uses(project: CheckedProject, function: str) -> TableUses:
    """Return the tables of a function's own steps, without its callees.

    It also reads tables behind relations, and tables that the rules of others name.
    """
    steps = project.functions[function].model.every_step
    known = project.tables.keys()
    writes = {name for step in steps for name in _writes(step)} & known
    named = {name for step in steps for name in _reads(step)} & known
    implied = {name for kind, name in project.flows.of(function).own_reads if kind == "table"}
    reads = named | (implied & known) - writes
    return TableUses(tuple(sorted(reads)), tuple(sorted(writes)))


def _writes(step: Step) -> Iterator[str]:
    match step:
        case Insert():
            yield str(step.insert.table)
        case Update():
            yield str(step.update.table)
        case Delete():
            yield str(step.delete.table)
        case Sql() if step.sql.mode == "write":
            yield from _written(step.own.words)


def _reads(step: Step) -> Iterator[str]:
    match step:
        case Find():
            parts = step.find.union or ()
            yield from (
                str(name) for name in (step.find.table, *(part.table for part in parts)) if name
            )
        case Sql():
            words = step.own.words
            written = {*_written(words)} if step.sql.mode == "write" else set()
            yield from {*words} - written


def _written(words: tuple[str, ...]) -> Iterator[str]:
    previous = ""
    for word, name in pairwise(words):
        if word in _INTO or (previous, word) == ("delete", "from"):
            yield name
        previous = word
