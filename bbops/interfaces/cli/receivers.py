"""List the receivers of a project's webhooks, and enable one again."""

from __future__ import annotations

import click

from bbops.base.json_deliveries import JsonReceiver
from bbops.base.json_jobs import ChangedJobs
from bbops.base.render import printable
from bbops.interfaces.cli._examples import examples
from bbops.interfaces.cli._family import Family
from bbops.interfaces.cli._listing import say_list
from bbops.interfaces.cli._place import Place, at_place, limit_option


@examples("bbops receivers list --disabled", "bbops receivers enable partners PARTNER_URL")
@click.group(cls=Family)
def command() -> None:
    """Manage receivers of webhooks; developers see them, maintainers enable them.

    A receiver that has answered 410, or has taken nothing for five days, is disabled.
    """


@examples("bbops receivers list", "bbops receivers list --disabled")
@command.command("list")
@click.option("--disabled", is_flag=True, help="Only receivers that are disabled.")
@limit_option
@at_place
def show(limit: int, place: Place, *, disabled: bool) -> None:
    """List receivers by webhook, never with their secrets."""
    path = f"receivers?limit={limit}&disabled={str(disabled).lower()}"
    found = place.read(path, list[JsonReceiver])
    say_list(found, _line, none="no receivers", as_json=place.as_json)


@examples("bbops receivers enable partners PARTNER_URL")
@command.command("enable")
@click.argument("webhook")
@click.argument("receiver")
@at_place
def enable(webhook: str, receiver: str, place: Place) -> int:
    """Send messages of WEBHOOK to RECEIVER again. What was dropped meanwhile is not sent."""
    body = {"webhook": webhook, "receiver": receiver}
    found, shown = place.change("receivers/enable", ChangedJobs, body), printable(receiver)
    none = f"receiver '{shown}' is not disabled: 'bbops receivers list' shows them"
    place.show(found, f"enabled {shown}" if found.count else none)
    return 0 if found.count else 1


def _line(one: JsonReceiver) -> str:
    parts = [one.webhook, printable(one.receiver), *([printable(one.url)] if one.url else [])]
    if one.disabled_at:
        parts.append(click.style(f"disabled since {one.disabled_at}", fg="red"))
    return "  ".join(parts)
