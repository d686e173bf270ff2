"""List the events of a project, emit one, and replay those of the log."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any

import click
import msgspec

from bbops.base.console import say
from bbops.base.json_events import EmittedEvent, LoggedEvent, ReplayedEvents
from bbops.base.render import one_line, plural, printable
from bbops.interfaces.cli._examples import examples
from bbops.interfaces.cli._family import Family
from bbops.interfaces.cli._listing import say_list
from bbops.interfaces.cli._server import as_json_option, of_project, of_server, open_remote
from bbops.interfaces.cli.requests import read_moment


@examples("bbops events list", "bbops events replay --to order-paid --since 2h")
@click.group(cls=Family)
def command() -> None:
    """Manage events: developers see them, maintainers emit and replay them.

    The log keeps events for 7 days. It does not hold the rows of triggers on 'database'.
    """


@examples("bbops events list", "bbops events list order.paid --limit 10")
@command.command("list")
@click.argument("event", required=False)
@click.option("--limit", default=100, show_default=True, type=click.IntRange(1, 1_000),
              help="How many events.")  # fmt: skip
@of_project
@of_server
@as_json_option
def show_all(
    event: str | None, limit: int, project: str | None, server: str, *, as_json: bool
) -> None:
    """List events, newest first; with EVENT only those of the name."""
    with open_remote(server) as remote:
        name = project or remote.only_project()
        path = f"events?event={event or ''}&limit={limit}"
        found = remote.of_project(name, "GET", path, list[LoggedEvent])
    say_list(found, _line, none="no events", as_json=as_json)


@examples("""bbops events emit order.paid '{"total": 12}'""")
@command.command("emit")
@click.argument("event")
@click.argument("payload", default="null")
@of_project
@of_server
@as_json_option
def emit(event: str, payload: str, project: str | None, server: str, *, as_json: bool) -> None:
    """Emit EVENT with a PAYLOAD in JSON, as a step 'emit' does."""
    body = {"event": event, "payload": _read(payload)}
    with open_remote(server) as remote:
        name = project or remote.only_project()
        found = remote.of_project(name, "POST", "events/emit", EmittedEvent, body)
    if as_json:
        say(msgspec.json.encode(found).decode())
    else:
        say(f"emitted {event}; {', '.join(found.triggers) or 'no trigger'} waits for it")


@examples("bbops events replay --to order-paid --since 2h")
@command.command("replay")
@click.option("--to", "trigger", required=True, metavar="TRIGGER",
              help="The trigger that is to run again.")  # fmt: skip
@click.option("--since", required=True, metavar="TIME",
              help="Events since this time, such as 2026-03-05T10:00 or 10m (ago).")  # fmt: skip
@click.option("--yes", is_flag=True, help="Do not ask.")
@of_project
@of_server
@as_json_option
def replay(
    trigger: str, since: str, project: str | None, server: str, *, yes: bool, as_json: bool
) -> int:
    """Run a trigger again for its events since a time, at most 10,000, each as a new job."""
    body = {"trigger": trigger, "since": read_moment(since) or time.time()}  # noqa: TID251 - ours
    with open_remote(server) as remote:
        name = project or remote.only_project()
        if not yes:
            there = _replay(remote, name, body | {"dryRun": True}).count
            if not click.confirm(f"run {trigger} again for {plural(there, 'event')}?", err=True):
                return 1
        found = _replay(remote, name, body)
    if as_json:
        say(msgspec.json.encode(found).decode())
    else:
        say(f"{plural(found.count, 'event')} of {trigger} run again; 'bbops jobs list' shows them")
    return 0


def _replay(remote: Any, project: str, body: dict[str, Any]) -> ReplayedEvents:
    found: ReplayedEvents = remote.of_project(
        project, "POST", "events/replay", ReplayedEvents, body
    )
    return found


def _read(payload: str) -> Any:
    try:
        return json.loads(payload)
    except ValueError as error:
        raise click.BadParameter(f"the payload is not JSON: {error}") from None


def _line(one: LoggedEvent) -> str:
    at = f"{datetime.fromtimestamp(one.at, UTC):%Y-%m-%dT%H:%M:%S}Z"
    return f"{at}  {printable(one.name)}  {one_line(one.payload)}"
