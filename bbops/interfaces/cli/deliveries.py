"""List the webhooks of a project, received and sent, and repeat one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote

import click
import msgspec

from bbops.base.console import say
from bbops.base.errors import ServerError
from bbops.base.json_deliveries import Delivery, DeliveryStory, DeliveryTry, StartedJob
from bbops.base.render import one_line, printable
from bbops.interfaces.cli._examples import examples
from bbops.interfaces.cli._family import Family
from bbops.interfaces.cli._listing import say_list
from bbops.interfaces.cli._server import as_json_option, of_project, of_server, open_remote

_COLOURS: Final = {
    "received": "green", "delivered": "green", "waiting": "yellow", "failed": "red",
    "dropped": "red",
}  # fmt: skip
_RECEIVED: Final = "triggers/"
"""Begins the name of a delivery that was received."""


@examples("bbops deliveries list", "bbops deliveries replay triggers/paid@evt_1")
@click.group(cls=Family)
def command() -> None:
    """Manage webhooks that were received and sent; developers see them, maintainers repeat them.

    ID below is a delivery as 'bbops deliveries list' shows it. Deliveries are kept for 30 days.
    """


@examples("bbops deliveries list", "bbops deliveries list --received --limit 10")
@command.command("list")
@click.option("--received", "direction", flag_value="received", default=None,
              help="Only what other services have sent.")  # fmt: skip
@click.option("--sent", "direction", flag_value="sent", help="Only what was sent to receivers.")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(1, 1_000),
              help="How many deliveries.")  # fmt: skip
@of_project
@of_server
@as_json_option
def show_all(
    direction: str | None, limit: int, project: str | None, server: str, *, as_json: bool
) -> None:
    """List deliveries, newest first."""
    with open_remote(server) as remote:
        name = project or remote.only_project()
        path = f"deliveries?direction={direction or ''}&limit={limit}"
        found = remote.of_project(name, "GET", path, list[Delivery])
    say_list(found, _line, none="no deliveries", as_json=as_json)


@examples("bbops deliveries show triggers/paid@evt_1")
@command.command("show")
@click.argument("delivery", metavar="ID")
@of_project
@of_server
@as_json_option
def show_one(delivery: str, project: str | None, server: str, *, as_json: bool) -> None:
    """Show a delivery: headers and body, and the answers of a receiver. Secrets are masked."""
    with open_remote(server) as remote:
        name = project or remote.only_project()
        path = f"deliveries/story?delivery={quote(delivery, safe='')}"
        found = remote.of_project(name, "GET", path, DeliveryStory)
    if as_json:
        say(msgspec.json.encode(found).decode())
        return
    say(_line(found.delivery))
    for header, value in found.headers:
        say(f"{printable(header)}: {one_line(value)}")
    for tried in found.tries:
        say(_try(tried))
    say(f"body  {one_line(found.body)}")


@examples("bbops deliveries replay triggers/paid@evt_1")
@command.command("replay")
@click.argument("delivery", metavar="ID")
@of_project
@of_server
@as_json_option
def replay(delivery: str, project: str | None, server: str, *, as_json: bool) -> None:
    """Run the function of a received delivery again, as a new job."""
    if not delivery.startswith(_RECEIVED):
        hint = f"bbops deliveries resend {delivery}"
        raise ServerError(f"'{delivery}' was not received", hint=hint)
    _repeat(delivery, project, server, as_json=as_json)


@examples("bbops deliveries resend webhooks/partners@msg_1/7")
@command.command("resend")
@click.argument("delivery", metavar="ID")
@of_project
@of_server
@as_json_option
def resend(delivery: str, project: str | None, server: str, *, as_json: bool) -> None:
    """Send a message again to its receiver, with the same webhook-id, as a new job."""
    if delivery.startswith(_RECEIVED):
        raise ServerError(f"'{delivery}' was not sent", hint=f"bbops deliveries replay {delivery}")
    _repeat(delivery, project, server, as_json=as_json)


def _repeat(delivery: str, project: str | None, server: str, *, as_json: bool) -> None:
    with open_remote(server) as remote:
        name, body = project or remote.only_project(), {"delivery": delivery}
        found = remote.of_project(name, "POST", "deliveries/repeat", StartedJob, body)
    if as_json:
        say(msgspec.json.encode(found).decode())
    else:
        say(f"started {printable(found.job)}; 'bbops jobs show {printable(found.job)}' follows it")


def _line(one: Delivery) -> str:
    state = click.style(f"{one.state:<9}", fg=_COLOURS.get(one.state))
    parts = [_when(one.at), state, printable(one.id)]
    if one.event:
        parts.append(f"{one.event} to {printable(one.receiver)}")
    if one.tries > 1:
        parts.append(f"{one.tries} tries")
    line = "  ".join(parts)
    return f"{line}\n    {one_line(one.error)}" if one.error else line


def _try(one: DeliveryTry) -> str:
    said = one.error if one.status is None else f"{one.status} {one.answer}".rstrip()
    return f"{_when(one.at)}  {one_line(said)}"


def _when(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S}Z"
