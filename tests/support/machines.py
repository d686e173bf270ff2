"""Run a state machine of which each example is a server of its own, and count what happened."""

from __future__ import annotations

from typing import Protocol

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test


class Counted(Protocol):
    """A machine whose invariant counts the events that it has seen."""

    events: int


def run_machine(machine: type[RuleBasedStateMachine], servers: int, events: int) -> None:
    """Let so many events happen to each of so many servers; nothing is shrunk or kept.

    Hypothesis may end one before its last event: another server then makes up for it.
    """
    counted: type[Counted] = machine  # type: ignore[assignment]
    counted.events = 0
    while (missing := servers * events - counted.events) > 0:
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=-(-missing // events), stateful_step_count=events, deadline=None,
                database=None, phases=[Phase.generate],
                suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
            ),
        )  # fmt: skip
