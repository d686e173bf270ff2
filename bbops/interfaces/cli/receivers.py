"""List the receivers of a project's webhooks, and enable one again."""

from __future__ import annotations

import click
import msgspec

from bbops.base.console import say
from bbops.base.json_deliveries import JsonReceiver
from bbops.base.json_jobs import ChangedJobs
from bbops.base.render import printable
from bbops.interfaces.cli._examples import examples
from bbops.interfaces.cli._family import Family
from bbops.interfaces.cli._listing import say_list
from bbops.interfaces.cli._server import as_json_option, of_project, of_server, open_remote


@examples("bbops receivers list --disabled", "bbops receivers enable partners PARTNER_URL")
@click.group(cls=Family)
def command() -> None:
    """Manage receivers of webhooks; developers see them, maintainers enable them.

    A receiver that has answered 410, or has taken nothing for five days, is disabled.
    """


@examples("bbops receivers list", "bbops receivers list --disabled")
@command.command("list")
@click.option("--disabled", is_flag=True, help="Only receivers that are disabled.")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(1, 1_000),
              help="How many receivers.")  # fmt: skip
@of_project
@of_server
@as_json_option
def show(
    limit: int, project: str | None, server: str, *, disabled: bool, as_json: bool
) -> None:  # fmt: skip
    """List receivers by webhook, never with their secrets."""
    with open_remote(server) as remote:
        name = project or remote.only_project()
        path = f"receivers?limit={limit}&disabled={str(disabled).lower()}"
        found = remote.of_project(name, "GET", path, list[JsonReceiver])
    say_list(found, _line, none="no receivers", as_json=as_json)


@examples("bbops receivers enable partners PARTNER_URL")
@command.command("enable")
@click.argument("webhook")
@click.argument("receiver")
@of_project
@of_server
@as_json_option
def enable(webhook: str, receiver: str, project: str | None, server: str, *, as_json: bool) -> int:
    """Send messages of WEBHOOK to RECEIVER again. What was dropped meanwhile is not sent."""
    with open_remote(server) as remote:
        name, body = project or remote.only_project(), {"webhook": webhook, "receiver": receiver}
        found = remote.of_project(name, "POST", "receivers/enable", ChangedJobs, body)
    if as_json:
        say(msgspec.json.encode(found).decode())
    elif found.count:
        say(f"enabled {printable(receiver)}")
    else:
        say(f"receiver '{printable(receiver)}' is not disabled: 'bbops receivers list' shows them")
    return 0 if found.count else 1


def _line(one: JsonReceiver) -> str:
    parts = [one.webhook, printable(one.receiver), *([printable(one.url)] if one.url else [])]
    if one.disabled_at:
        parts.append(click.style(f"disabled since {one.disabled_at}", fg="red"))
    return "  ".join(parts)
