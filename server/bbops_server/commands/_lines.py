"""The lines that `bbops dev` prints: requests, ticks, events, jobs, webhooks, messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import click

from bbops.base.render import one_line, plural
from bbops_server.process.messages.reports import (
    EventLogged,
    JobEnded,
    JobStarted,
    LinesMissed,
    MessagePublished,
    Reported,
    RequestAnswered,
    TaskTicked,
)

_STATUS: Final = {2: "green", 3: "cyan", 4: "yellow", 5: "red"}
"""Colours of a status by its first digit."""

_OUTCOMES: Final = {
    "done": "green", "waiting": "cyan", "retrying": "yellow", "dead": "red", "held": "yellow",
}  # fmt: skip
_WEBHOOKS: Final = "webhooks/"


def lines_of(event: Reported) -> list[str]:
    """Return what is printed of an event."""
    match event:
        case RequestAnswered():
            return [*_missed(event.missed, "request"), _request(event)]
        case JobStarted():
            name = _name(event.work, event.job)
            return [_dim(_line(_kind(event.work), [name, "started", _attempt(event.attempt)]))]
        case JobEnded():
            return [_job(event)]
        case TaskTicked():
            missed = f"{plural(event.missed, 'run')} missed" if event.missed else ""
            return [_line("TICK", [one_line(event.task), missed])]
        case EventLogged():
            starts = ", ".join(map(one_line, event.starts))
            return [_line("EVENT", [one_line(event.name), f"starts {starts}" if starts else ""])]
        case MessagePublished():
            return [_line("PUBLISH", [one_line(event.topic), one_line(event.name)])]
        case LinesMissed():
            return _missed(event.count, "line")


def _request(event: RequestAnswered) -> str:
    status = click.style(f"{event.status or '-'}", fg=_STATUS.get(event.status // 100))
    return _line(
        one_line(event.method),
        [one_line(event.path), status, _took(event.milliseconds), one_line(event.code),
         one_line(event.at)],
    )  # fmt: skip


def _job(event: JobEnded) -> str:
    outcome = click.style(event.outcome, fg=_OUTCOMES[event.outcome])
    return _line(
        _kind(event.work),
        [_name(event.work, event.job), outcome, _took(event.milliseconds),
         _attempt(event.attempt), one_line(event.reason), one_line(event.at)],
    )  # fmt: skip


def _kind(work: str) -> str:
    return "SEND" if work.startswith(_WEBHOOKS) else "JOB"


def _name(work: str, job: str) -> str:
    """Return what a job is called: of a webhook that is sent, with message and receiver."""
    return one_line(job if work.startswith(_WEBHOOKS) else work)


def _line(kind: str, parts: Iterable[str]) -> str:
    return f"{kind:<7}  {'  '.join(filter(None, parts))}"


def _took(milliseconds: float) -> str:
    return _dim(f"in {milliseconds:.1f} ms")


def _attempt(number: int) -> str:
    return f"attempt {number}" if number > 1 else ""


def _missed(count: int, noun: str) -> list[str]:
    return [_dim(f"         {plural(count, noun)} not shown")] if count else []


def _dim(text: str) -> str:
    return click.style(text, dim=True)
