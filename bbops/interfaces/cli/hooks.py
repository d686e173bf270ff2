"""List the messages to a server's webhooks, test the webhooks, and resend a message."""

from __future__ import annotations

from urllib.parse import quote

import click
import msgspec

from bbops.base.console import say
from bbops.base.render import printable
from bbops.interfaces.answers import WebhookMessage
from bbops.interfaces.cli._command_group import CommandGroup, examples
from bbops.interfaces.cli._server import as_json_option, of_server, open_remote
from bbops.interfaces.cli._target import print_list

RECEIVER_SECONDS = 40.0
"""A receiver has 15 s to respond, and may need as long for an earlier message."""
ID_LENGTH = 12
"""Characters of a message's id in the list: enough to be unique."""

_COLORS = {"taken": "green", "waiting": "yellow", "dropped": "red"}


@examples("bbops hooks list", "bbops hooks test")
@click.group(cls=CommandGroup)
def command() -> None:
    """List, test and redeliver the webhooks of a server; for owners.

    Receivers are those under 'webhooks' in the server's file. Their paths are not shown, because
    many contain a secret.
    """


@examples("bbops hooks list", "bbops hooks list --limit 5")
@command.command("list")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1_000),
              help="How many messages to list.")  # fmt: skip
@of_server
@as_json_option
def show(limit: int, server: str, *, as_json: bool) -> None:
    """List the latest deliveries, newest first, with their results."""
    with open_remote(server) as remote:
        messages = remote.of_server("GET", f"hooks?limit={limit}", list[WebhookMessage])
    none = "no deliveries yet; 'bbops hooks test' sends a test message to the receivers"
    print_list(messages, _line, none=none, as_json=as_json)


@examples("bbops hooks test", "bbops hooks test chat.example.com")
@command.command("test")
@click.argument("receiver", default="")
@of_server
@as_json_option
def test(receiver: str, server: str, *, as_json: bool) -> int:
    """Send a signed 'ping' now, once, to RECEIVER (a part of its address), or to all receivers.

    Exits with 1 unless every receiver accepts it.
    """
    with open_remote(server) as remote:
        messages = remote.of_server(
            "POST", "hooks/test", list[WebhookMessage], {"receiver": receiver}, RECEIVER_SECONDS
        )
    print_list(messages, _line, as_json=as_json)
    return 0 if all(message.outcome == "taken" for message in messages) else 1


@examples("bbops hooks resend 4f1c")
@command.command("resend")
@click.argument("message", metavar="ID")
@of_server
@as_json_option
def resend(message: str, server: str, *, as_json: bool) -> int:
    """Redeliver the message with this ID, or whose id starts with it.

    Exits with 1 unless it is accepted. The message keeps its id, so the receiver can detect
    duplicates.
    """
    path = f"hooks/{quote(message, safe='')}/resend"
    with open_remote(server) as remote:
        sent = remote.of_server("POST", path, WebhookMessage, None, RECEIVER_SECONDS)
    say(msgspec.json.encode(sent).decode() if as_json else _line(sent))
    return 0 if sent.outcome == "taken" else 1


def _line(message: WebhookMessage) -> str:
    outcome = click.style(f"{message.outcome:<7}", fg=_COLORS.get(message.outcome))
    status = str(message.status or "-")
    event = f"{printable(message.event)} {printable(message.project)}".strip()
    receiver = printable(message.receiver)
    head = f"{message.id[:ID_LENGTH]}  {message.at[:19]}Z  {outcome}  {status:<3}"
    line = f"{head}  {message.tries}x  {receiver}  {event}"
    return f"{line}\n    {printable(message.error)}" if message.error else line
