"""List the webhooks of a project, received and sent, and repeat one."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

import click

from bbops.base.errors import ServerError
from bbops.base.json_deliveries import Delivery, DeliveryStory, DeliveryTry, StartedJob
from bbops.base.moments import shown_time
from bbops.base.render import one_line, printable
from bbops.interfaces.cli._examples import examples
from bbops.interfaces.cli._family import Family
from bbops.interfaces.cli._listing import say_list
from bbops.interfaces.cli._place import Place, at_place, limit_option, started

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
@limit_option
@at_place
def show_all(direction: str | None, limit: int, place: Place) -> None:
    """List deliveries, newest first."""
    path = f"deliveries?direction={direction or ''}&limit={limit}"
    found = place.read(path, list[Delivery])
    say_list(found, _line, none="no deliveries", as_json=place.as_json)


@examples("bbops deliveries show triggers/paid@evt_1")
@command.command("show")
@click.argument("delivery", metavar="ID")
@at_place
def show_one(delivery: str, place: Place) -> None:
    """Show a delivery: headers and body, and the answers of a receiver. Secrets are masked."""
    found = place.read(f"deliveries/story?delivery={quote(delivery, safe='')}", DeliveryStory)
    place.show(
        found, _line(found.delivery),
        *(f"{printable(header)}: {one_line(value)}" for header, value in found.headers),
        *map(_try, found.tries), f"body  {one_line(found.body)}",
    )  # fmt: skip


@examples("bbops deliveries replay triggers/paid@evt_1")
@command.command("replay")
@click.argument("delivery", metavar="ID")
@at_place
def replay(delivery: str, place: Place) -> None:
    """Run the function of a received delivery again, as a new job."""
    if not delivery.startswith(_RECEIVED):
        hint = f"bbops deliveries resend {delivery}"
        raise ServerError(f"'{delivery}' was not received", hint=hint)
    _repeat(delivery, place)


@examples("bbops deliveries resend webhooks/partners@msg_1/7")
@command.command("resend")
@click.argument("delivery", metavar="ID")
@at_place
def resend(delivery: str, place: Place) -> None:
    """Send a message again to its receiver, with the same webhook-id, as a new job."""
    if delivery.startswith(_RECEIVED):
        raise ServerError(f"'{delivery}' was not sent", hint=f"bbops deliveries replay {delivery}")
    _repeat(delivery, place)


def _repeat(delivery: str, place: Place) -> None:
    found = place.change("deliveries/repeat", StartedJob, {"delivery": delivery})
    place.show(found, started(found.job))


def _line(one: Delivery) -> str:
    state = click.style(f"{one.state:<9}", fg=_COLOURS.get(one.state))
    parts = [shown_time(one.at), state, printable(one.id)]
    if one.event:
        parts.append(f"{one.event} to {printable(one.receiver)}")
    if one.tries > 1:
        parts.append(f"{one.tries} tries")
    line = "  ".join(parts)
    return f"{line}\n    {one_line(one.error)}" if one.error else line


def _try(one: DeliveryTry) -> str:
    said = one.error if one.status is None else f"{one.status} {one.answer}".rstrip()
    return f"{shown_time(one.at)}  {one_line(said)}"
