"""List the webhooks of a project, received and sent, and repeat one."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

import click

from bbops.base.errors import ServerError
from bbops.base.json_work import Delivery, DeliveryStory, DeliveryTry, StartedJob
from bbops.base.moments import shown_time
from bbops.base.render import one_line, printable
from bbops.interfaces.cli._command_group import CommandGroup, examples
from bbops.interfaces.cli._target import (
    ProjectTarget,
    describe_started,
    limit_option,
    print_list,
    with_target,
)

_COLORS: Final = {
    "received": "green", "delivered": "green", "waiting": "yellow", "failed": "red",
    "dropped": "red",
}  # fmt: skip
_RECEIVED: Final = "triggers/"
"""The prefix of the id of a received delivery."""


@examples("bbops deliveries list", "bbops deliveries replay triggers/paid@evt_1")
@click.group(cls=CommandGroup)
def command() -> None:
    """Manage received and sent webhooks; developers can see them, maintainers can repeat them.

    ID below is a delivery's id, as 'bbops deliveries list' shows it. Deliveries are kept for 30
    days.
    """


@examples("bbops deliveries list", "bbops deliveries list --received --limit 10")
@command.command("list")
@click.option("--received", "direction", flag_value="received", default=None,
              help="Only webhooks that other services have sent.")  # fmt: skip
@click.option("--sent", "direction", flag_value="sent", help="Only messages sent to receivers.")
@limit_option
@with_target
def list_deliveries(direction: str | None, limit: int, target: ProjectTarget) -> None:
    """List deliveries, newest first."""
    path = f"deliveries?direction={direction or ''}&limit={limit}"
    deliveries = target.read(path, list[Delivery])
    print_list(deliveries, _line, none="no deliveries", as_json=target.as_json)


@examples("bbops deliveries show triggers/paid@evt_1")
@command.command("show")
@click.argument("delivery", metavar="ID")
@with_target
def show_delivery(delivery: str, target: ProjectTarget) -> None:
    """Show a delivery: headers, body, and the receiver's responses. Secrets are masked."""
    story = target.read(f"deliveries/story?delivery={quote(delivery, safe='')}", DeliveryStory)
    target.print(
        story, _line(story.delivery),
        *(f"{printable(header)}: {one_line(value)}" for header, value in story.headers),
        *map(_attempt, story.tries), f"body  {one_line(story.body)}",
    )  # fmt: skip


@examples("bbops deliveries replay triggers/paid@evt_1")
@command.command("replay")
@click.argument("delivery", metavar="ID")
@with_target
def replay(delivery: str, target: ProjectTarget) -> None:
    """Run the function of a received delivery again, as a new job."""
    if not delivery.startswith(_RECEIVED):
        hint = f"bbops deliveries resend {delivery}"
        raise ServerError(f"'{delivery}' was not received", hint=hint)
    _repeat(delivery, target)


@examples("bbops deliveries resend webhooks/partners@msg_1/7")
@command.command("resend")
@click.argument("delivery", metavar="ID")
@with_target
def resend(delivery: str, target: ProjectTarget) -> None:
    """Send a message to its receiver again, with the same webhook-id, as a new job."""
    if delivery.startswith(_RECEIVED):
        raise ServerError(f"'{delivery}' was not sent", hint=f"bbops deliveries replay {delivery}")
    _repeat(delivery, target)


def _repeat(delivery: str, target: ProjectTarget) -> None:
    job = target.change("deliveries/repeat", StartedJob, {"delivery": delivery})
    target.print(job, describe_started(job.job))


def _line(delivery: Delivery) -> str:
    state = click.style(f"{delivery.state:<9}", fg=_COLORS.get(delivery.state))
    parts = [shown_time(delivery.at), state, printable(delivery.id)]
    if delivery.event:
        parts.append(f"{delivery.event} to {printable(delivery.receiver)}")
    if delivery.tries > 1:
        parts.append(f"{delivery.tries} tries")
    line = "  ".join(parts)
    return f"{line}\n    {one_line(delivery.error)}" if delivery.error else line


def _attempt(attempt: DeliveryTry) -> str:
    status = attempt.status
    result = attempt.error if status is None else f"{status} {attempt.answer}".rstrip()
    return f"{shown_time(attempt.at)}  {one_line(result)}"
