"""List the events of a project, emit one, and replay those of the log."""

from __future__ import annotations

import json
import time
from typing import Any

import click

from bbops.base.json_events import EmittedEvent, LoggedEvent, ReplayedEvents
from bbops.base.moments import shown_time
from bbops.base.render import one_line, plural, printable
from bbops.interfaces.cli._examples import examples
from bbops.interfaces.cli._family import Family
from bbops.interfaces.cli._listing import say_list
from bbops.interfaces.cli._place import Place, at_place, limit_option
from bbops.interfaces.cli.requests import read_moment


@examples("bbops events list", "bbops events replay --to order-paid --since 2h")
@click.group(cls=Family)
def command() -> None:
    """Manage events: developers see them, maintainers emit and replay them.

    The log keeps events for 7 days ('work.keep' of server.yaml changes that). It does not hold the
    rows of triggers on 'database'.
    """


@examples("bbops events list", "bbops events list order.paid --limit 10")
@command.command("list")
@click.argument("event", required=False)
@limit_option
@at_place
def show_all(event: str | None, limit: int, place: Place) -> None:
    """List events, newest first; with EVENT only those of the name."""
    found = place.read(f"events?event={event or ''}&limit={limit}", list[LoggedEvent])
    say_list(found, _line, none="no events", as_json=place.as_json)


@examples("""bbops events emit order.paid '{"total": 12}'""")
@command.command("emit")
@click.argument("event")
@click.argument("payload", default="null")
@at_place
def emit(event: str, payload: str, place: Place) -> None:
    """Emit EVENT with a PAYLOAD in JSON, as a step 'emit' does."""
    body = {"event": event, "payload": _read(payload)}
    found = place.change("events/emit", EmittedEvent, body)
    triggers = ", ".join(found.triggers) or "no trigger"
    place.show(found, f"emitted {event}; {triggers} waits for it")


@examples("bbops events replay --to order-paid --since 2h")
@command.command("replay")
@click.option("--to", "trigger", required=True, metavar="TRIGGER",
              help="The trigger that is to run again.")  # fmt: skip
@click.option("--since", required=True, metavar="TIME",
              help="Events since this time, such as 2026-03-05T10:00 or 10m (ago).")  # fmt: skip
@click.option("--yes", is_flag=True, help="Do not ask.")
@at_place
def replay(trigger: str, since: str, place: Place, *, yes: bool) -> int:
    """Run a trigger again for its events since a time, at most 10,000, each as a new job."""
    body = {"trigger": trigger, "since": read_moment(since) or time.time()}  # noqa: TID251 - ours
    if not yes:
        there = place.change("events/replay", ReplayedEvents, body | {"dryRun": True}).count
        if not click.confirm(f"run {trigger} again for {plural(there, 'event')}?", err=True):
            return 1
    found = place.change("events/replay", ReplayedEvents, body)
    again = f"{plural(found.count, 'event')} of {trigger} run again"
    place.show(found, f"{again}; 'bbops jobs list' shows them")
    return 0


def _read(payload: str) -> Any:
    try:
        return json.loads(payload)
    except ValueError as error:
        raise click.BadParameter(f"the payload is not JSON: {error}") from None


def _line(one: LoggedEvent) -> str:
    return f"{shown_time(one.at)}  {printable(one.name)}  {one_line(one.payload)}"
