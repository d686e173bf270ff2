"""The terminal output of `serve` and `dev`: publications, requests, jobs, messages."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any, Final

import click
import msgspec

from bbops.base.console import say, wants_color
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.base.render import one_line, plural, printable, render
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
from bbops_server.publish.status.events import (
    ReleasePublished,
    ServerEvent,
    ServerReady,
    SettingsApplied,
    SettingsRejected,
    SourceRecovered,
)
from bbops_server.publish.status.status import Stalled

_KINDS = {
    ServerReady: "serving", ReleasePublished: "live", SourceRecovered: "found",
    SettingsApplied: "applied", SettingsRejected: "refused",
    RequestAnswered: "request", JobStarted: "jobStarted", JobEnded: "job", TaskTicked: "tick",
    EventLogged: "event", MessagePublished: "message", LinesMissed: "missed",
}  # fmt: skip


def print_json(project: str, event: ServerEvent) -> None:
    """Print an event as one line of JSON; it names its project where a server has several."""
    if isinstance(event, Stalled):
        data: dict[str, Any] = {
            "event": "stalled", "reason": event.reason, "message": event.message,
            "hint": event.hint, "diagnostics": event.diagnostics,
        }  # fmt: skip
    else:
        data = {"event": _KINDS[type(event)], **_fields(event)}
    if project:
        data["project"] = project
    print(json.dumps(msgspec.to_builtins(data)), flush=True)  # noqa: T201 - a command's output


def _fields(event: ServerEvent) -> dict[str, Any]:
    if isinstance(event, msgspec.Struct):  # their tags are none of their fields
        return msgspec.structs.asdict(event)
    fields: dict[str, Any] = msgspec.to_builtins(event)
    return fields


class Terminal:
    """Prints events for people; colour only on a terminal, and never with NO_COLOR."""

    def __init__(self, *, mode: str, tips: str = "") -> None:
        self.mode, self.tips = mode, tips
        self.url = ""

    def __call__(self, project: str, event: ServerEvent) -> None:
        """Print one event."""
        name = f"{project}: " if project else ""
        match event:
            case ServerReady():
                self.serving(event)
            case ReleasePublished():
                self.live(event, name)
            case SourceRecovered():
                say(f"found    {name}{printable(event.source)} again")
            case Stalled():
                self.stalled(event, name)
            case SettingsApplied():
                self.applied(event)
            case SettingsRejected():
                say(
                    f"{click.style('refused', fg='red', bold=True)}  the previous "
                    f"settings stay in effect"
                )
                self.diagnostics(event.diagnostics)
            case _:
                for line in lines_of(event):
                    say(line)
        sys.stdout.flush()

    def applied(self, event: SettingsApplied) -> None:
        """Print the effects of a change of the server's file."""
        touched = [("added", event.added), ("changed", event.changed), ("removed", event.removed)]
        words = "; ".join(f"{verb} {', '.join(names)}" for verb, names in touched if names)
        say(f"{click.style('applied', bold=True)}  {words or 'the settings'}")
        self.diagnostics(event.diagnostics)

    def serving(self, event: ServerReady) -> None:
        """Print the addresses."""
        self.url = event.url
        say(f"{click.style('serving', bold=True)}  {event.source}")
        say(f"         {event.url} is the API, {event.control_url} the control plane")
        if event.database:
            say(f"         the data is in {event.database}")
        if event.setup_url:
            say(f"         {event.setup_url} creates the first account")
        elif self.mode == "serve":
            say(f"         {event.control_url}/git/NAME.git is the git URL for clone and push")

    def live(self, event: ReleasePublished, name: str) -> None:
        """Say that a release is live, and what that changed."""
        took = click.style(f"in {event.milliseconds:.0f} ms", dim=True)
        parts = [
            click.style("live", fg="green", bold=True),
            "   ",
            name + " ".join(filter(None, [event.release, event.version])),
            printable(event.subject),
        ]
        say("  ".join(part for part in parts if part) + f"  {took}")
        for change in event.changes:
            say(f"         {click.style(change, fg='cyan')}")
        self.diagnostics(event.warnings)
        if self.tips:
            say(f"\n{self.tips.format(url=self.url)}\n")
            self.tips = ""

    def stalled(self, event: Stalled, name: str) -> None:
        """Say why the newest revision is not live, and the cure."""
        if event.diagnostics:
            word = click.style("refused", fg="red", bold=True)
            say(f"{word}  {name}{self.describe_outcome(event)}")
            self.diagnostics(event.diagnostics)
            return
        word = click.style("stalled", fg="red", bold=True)
        say(f"{word}  {name}{printable(event.message)} [{event.reason}]")
        if event.hint:
            say(f"         hint: {printable(event.hint)}")

    def describe_outcome(self, event: Stalled) -> str:
        """Return the consequence of a refusal for requests."""
        if self.mode == "dev":
            return "routes answer 503 until this is fixed"
        after = "the last live release keeps serving" if event.serving else "nothing is live yet"
        return f"this is not published; {after}"

    def diagnostics(self, found: list[JsonDiagnostic]) -> None:
        """Print diagnostics as `bbops validate` does."""
        if found:
            say(render([one.diagnostic() for one in found], "text", color=wants_color(sys.stdout)))


# ---- The lines that `bbops dev` prints: requests, ticks, events, jobs, webhooks, messages

_STATUS: Final = {2: "green", 3: "cyan", 4: "yellow", 5: "red"}
"""Colours of a status by its first digit."""

_OUTCOMES: Final = {
    "done": "green", "waiting": "cyan", "retrying": "yellow", "dead": "red", "held": "yellow",
}  # fmt: skip
_WEBHOOKS: Final = "webhooks/"


def lines_of(event: Reported) -> list[str]:
    """Return the lines of an event."""
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
    """Return the name of a job: for a sent webhook, with message and receiver."""
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
