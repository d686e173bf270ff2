"""List the receivers of a project's webhooks, and enable one again."""

from __future__ import annotations

import click

from bbops.base.json_work import ChangedJobs, JsonReceiver
from bbops.base.render import printable
from bbops.interfaces.cli._command_group import CommandGroup, examples
from bbops.interfaces.cli._target import ProjectTarget, limit_option, print_list, with_target


@examples("bbops receivers list --disabled", "bbops receivers enable partners PARTNER_URL")
@click.group(cls=CommandGroup)
def command() -> None:
    """Manage receivers of webhooks; developers can see them, maintainers can enable them.

    A receiver that has responded with 410, or has accepted no message for five days, is disabled.
    """


@examples("bbops receivers list", "bbops receivers list --disabled")
@command.command("list")
@click.option("--disabled", is_flag=True, help="Only receivers that are disabled.")
@limit_option
@with_target
def show(limit: int, target: ProjectTarget, *, disabled: bool) -> None:
    """List receivers by webhook, never with their secrets."""
    path = f"receivers?limit={limit}&disabled={str(disabled).lower()}"
    receivers = target.read(path, list[JsonReceiver])
    print_list(receivers, _line, none="no receivers", as_json=target.as_json)


@examples("bbops receivers enable partners PARTNER_URL")
@command.command("enable")
@click.argument("webhook")
@click.argument("receiver")
@with_target
def enable(webhook: str, receiver: str, target: ProjectTarget) -> int:
    """Send messages of WEBHOOK to RECEIVER again. Messages dropped in the meantime are not sent."""
    body = {"webhook": webhook, "receiver": receiver}
    name = printable(receiver)
    enabled = target.change("receivers/enable", ChangedJobs, body)
    none = f"receiver '{name}' is not disabled: 'bbops receivers list' shows all receivers"
    target.print(enabled, f"enabled {name}" if enabled.count else none)
    return 0 if enabled.count else 1


def _line(receiver: JsonReceiver) -> str:
    url = [printable(receiver.url)] if receiver.url else []
    parts = [receiver.webhook, printable(receiver.receiver), *url]
    if receiver.disabled_at:
        parts.append(click.style(f"disabled since {receiver.disabled_at}", fg="red"))
    if receiver.problem:
        parts.append(click.style(f"misses events: {receiver.problem}", fg="red"))
    return "  ".join(parts)
