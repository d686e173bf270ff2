"""One table for people, one JSON document for machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.bench.duel import Outcome, Sample
from tests.bench.figures import Figure
from tests.bench.servers import TITLES

_MARKS = {True: "[green]yes[/]", False: "[red]no[/]", None: ""}


def print_table(
    machine: Mapping[str, Any], outcomes: Sequence[Outcome], figures: Sequence[Figure]
) -> None:
    """Print everything that was measured."""
    table = Table(title="bbops, and the same work by hand", title_justify="left")
    for name in ("what", "server", "measured", "times as fast", "target", "met"):
        right = name in {"measured", "times as fast", "target"}
        table.add_column(name, justify="right" if right else "left")
    shown = None
    for outcome in outcomes:
        contest = outcome.contest
        if shown != (contest.name, contest.ours):
            shown = contest.name, contest.ours
            table.add_row(contest.name, TITLES[contest.ours.server], _sample(outcome.ours))
        _add_other(table, outcome)
    table.add_section()
    for figure in figures:
        target = "" if figure.most is None else f"≤ {_number(figure.most)} {figure.unit}"
        measured = f"{_number(figure.value)} {figure.unit}"
        table.add_row(figure.name, "", measured, "", target, _MARKS[figure.is_met])
    console = Console(width=None if Console().is_terminal else 150)
    console.print(table)
    console.print(_caption(machine))


def _add_other(table: Table, outcome: Outcome) -> None:
    contest = outcome.contest
    ratio = f"{outcome.ratio_by_cpu:.2f} by CPU, {outcome.ratio_by_rate:.2f} by rate"
    target = "" if contest.target is None else f"≥ {contest.target:g}"
    table.add_row(
        "", TITLES[contest.other.server], _sample(outcome.other), ratio, target,
        _MARKS[is_met(outcome)],
    )  # fmt: skip


def is_met(outcome: Outcome) -> bool | None:
    """Whether a contest's target is met, by CPU time: neighbours disturb it least."""
    target = outcome.contest.target
    return None if target is None else outcome.ratio_by_cpu >= target


def _sample(sample: Sample) -> str:
    failed = f", {sample.failed} failed" if sample.failed else ""
    return f"{sample.requests_per_second:,.0f}/s, {sample.cpu_microseconds:.1f} µs{failed}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


def _caption(machine: Mapping[str, Any]) -> str:
    packages = ", ".join(f"{name} {number}" for name, number in machine["packages"].items())
    return (
        f"{machine['processor']}, {machine['cores']} cores, load {machine['load_before']} before;"
        f" Python {machine['python']}, SQLite {machine['sqlite']}, {packages};"
        f" {machine['generator']} with {machine['connections']} connections."
    )


def as_json(
    machine: Mapping[str, Any], outcomes: Sequence[Outcome], figures: Sequence[Figure]
) -> dict[str, Any]:
    """Return everything that was measured."""
    return {
        "machine": dict(machine),
        "contests": [
            {
                "name": outcome.contest.name,
                "ours": {"server": TITLES[outcome.contest.ours.server], **asdict(outcome.ours)},
                "other": {"server": TITLES[outcome.contest.other.server], **asdict(outcome.other)},
                "ratio_by_cpu": outcome.ratio_by_cpu,
                "ratio_by_rate": outcome.ratio_by_rate,
                "target": outcome.contest.target,
                "is_met": is_met(outcome),
            }
            for outcome in outcomes
        ],
        "figures": [{**asdict(figure), "is_met": figure.is_met} for figure in figures],
    }
