"""List the events of a project, emit one, and replay events of the log."""

from __future__ import annotations

import json
import time
from typing import Any

import click

from bbops.base.json_work import EmittedEvent, LoggedEvent, ReplayedEvents
from bbops.base.moments import shown_time
from bbops.base.render import one_line, plural, printable
from bbops.interfaces.cli._command_group import CommandGroup, examples
from bbops.interfaces.cli._target import (
    ProjectTarget,
    confirm,
    limit_option,
    print_list,
    with_target,
    yes_option,
)
from bbops.interfaces.cli.requests import read_moment


@examples("bbops events list", "bbops events replay --to order-paid --since 2h")
@click.group(cls=CommandGroup)
def command() -> None:
    """Manage events: developers can see them, maintainers can emit and replay them.

    The log keeps events for 7 days ('work.keep' of server.yaml changes that). It does not hold the
    rows of triggers on 'database'.
    """


@examples("bbops events list", "bbops events list order.paid --limit 10")
@command.command("list")
@click.argument("event", required=False)
@limit_option
@with_target
def list_events(event: str | None, limit: int, target: ProjectTarget) -> None:
    """List events, newest first; with EVENT only events with that name."""
    events = target.read(f"events?event={event or ''}&limit={limit}", list[LoggedEvent])
    print_list(events, _describe, none="no events", as_json=target.as_json)


@examples("""bbops events emit order.paid '{"total": 12}'""")
@command.command("emit")
@click.argument("event")
@click.argument("payload", default="null")
@with_target
def emit(event: str, payload: str, target: ProjectTarget) -> None:
    """Emit EVENT with a PAYLOAD in JSON, as a step 'emit' does."""
    body = {"event": event, "payload": _read(payload)}
    emitted = target.change("events/emit", EmittedEvent, body)
    triggers = ", ".join(emitted.triggers) or "no trigger"
    target.print(emitted, f"emitted {event}; {triggers} waits for it")


@examples("bbops events replay --to order-paid --since 2h")
@command.command("replay")
@click.option("--to", "trigger", required=True, metavar="TRIGGER",
              help="The trigger to run again.")  # fmt: skip
@click.option("--since", required=True, metavar="TIME",
              help="Events since this time, such as 2026-03-05T10:00 or 10m (ago).")  # fmt: skip
@yes_option
@with_target
def replay(trigger: str, since: str, target: ProjectTarget, *, yes: bool) -> int:
    """Run a trigger again for its events since a time, at most 10,000, each as a new job."""
    body = {"trigger": trigger, "since": read_moment(since) or time.time()}  # noqa: TID251 - ours
    if not yes:
        count = target.change("events/replay", ReplayedEvents, body | {"dryRun": True}).count
        if not confirm(f"run {trigger} again for {plural(count, 'event')}?"):
            return 1
    replayed = target.change("events/replay", ReplayedEvents, body)
    summary = f"{plural(replayed.count, 'event')} of {trigger} run again"
    target.print(replayed, f"{summary}; 'bbops jobs list' shows them")
    return 0


def _read(payload: str) -> Any:
    try:
        return json.loads(payload)
    except ValueError as error:
        raise click.BadParameter(f"the payload is not JSON: {error}") from None


def _describe(event: LoggedEvent) -> str:
    return f"{shown_time(event.at)}  {printable(event.name)}  {one_line(event.payload)}"
