"""See what a server's webhooks were sent, test them, send something again."""

from __future__ import annotations

from urllib.parse import quote

import click
import msgspec

from bbops.base.console import say
from bbops.base.render import printable
from bbops.interfaces.answers import SentMessage
from bbops.interfaces.cli._examples import examples
from bbops.interfaces.cli._family import Family
from bbops.interfaces.cli._listing import say_list
from bbops.interfaces.cli._server import as_json_option, of_server, open_remote

ANSWER_SECONDS = 40.0
"""A receiver has 15 s, and may be busy with another message for as long."""
SHOWN = 12
"""Characters of a message's id that the list shows: enough to name it."""

_COLOURS = {"taken": "green", "waiting": "yellow", "dropped": "red"}


@examples("bbops hooks list", "bbops hooks test")
@click.group(cls=Family)
def command() -> None:
    """List, test and redeliver the webhooks of a server; for owners.

    Receivers are those under 'webhooks' in the server's file. Their paths are not shown, because
    many contain a secret.
    """


@examples("bbops hooks list", "bbops hooks list --limit 5")
@command.command("list")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1_000),
              help="How many messages.")  # fmt: skip
@of_server
@as_json_option
def show(limit: int, server: str, *, as_json: bool) -> None:
    """List the latest deliveries, newest first, with their results."""
    with open_remote(server) as remote:
        found = remote.of_server("GET", f"hooks?limit={limit}", list[SentMessage])
    none = "no deliveries yet; 'bbops hooks test' sends a test message to the receivers"
    say_list(found, _line, none=none, as_json=as_json)


@examples("bbops hooks test", "bbops hooks test chat.example.com")
@command.command("test")
@click.argument("receiver", default="")
@of_server
@as_json_option
def test(receiver: str, server: str, *, as_json: bool) -> int:
    """Send a signed 'ping' now, once, to RECEIVER, a part of its address, or to all.

    Exits with 1 unless every receiver accepts it.
    """
    with open_remote(server) as remote:
        found = remote.of_server(
            "POST", "hooks/test", list[SentMessage], {"receiver": receiver}, ANSWER_SECONDS
        )
    say_list(found, _line, as_json=as_json)
    return 0 if all(one.outcome == "taken" for one in found) else 1


@examples("bbops hooks resend 4f1c")
@command.command("resend")
@click.argument("message", metavar="ID")
@of_server
@as_json_option
def resend(message: str, server: str, *, as_json: bool) -> int:
    """Redeliver the message ID, or the one whose id starts with it.

    Exits with 1 unless it is accepted. The message keeps its id, so the receiver can detect
    duplicates.
    """
    path = f"hooks/{quote(message, safe='')}/resend"
    with open_remote(server) as remote:
        found = remote.of_server("POST", path, SentMessage, None, ANSWER_SECONDS)
    say(msgspec.json.encode(found).decode() if as_json else _line(found))
    return 0 if found.outcome == "taken" else 1


def _line(one: SentMessage) -> str:
    outcome = click.style(f"{one.outcome:<7}", fg=_COLOURS.get(one.outcome))
    came = str(one.status or "-")
    about = f"{printable(one.event)} {printable(one.project)}".strip()
    where = printable(one.receiver)
    line = f"{one.id[:SHOWN]}  {one.at[:19]}Z  {outcome}  {came:<3}  {one.tries}x  {where}  {about}"
    return f"{line}\n    {printable(one.error)}" if one.error else line
