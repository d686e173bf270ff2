"""List the requests that a server answered, or follow new ones."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import click

from bbops.base.console import say
from bbops.base.render import printable
from bbops.interfaces.cli._examples import examples
from bbops.interfaces.cli._server import named_project, of_server, open_remote
from bbops.runtime.values.durations import seconds
from bbops.runtime.values.failures import FlowError
from bbops.runtime.values.times import parse_datetime

FOLLOW_SECONDS = 0.5


@examples("bbops requests --status 5xx", "bbops requests shop --follow")
@click.command()
@named_project
@of_server
@click.option("--status", metavar="N", help="Only this status, or a class such as 5xx.")
@click.option("--method", help="Only this method.")
@click.option("--path", help="Only this path.")
@click.option("--endpoint", metavar="NAME", help="Only this endpoint.")
@click.option("--text", help="Only requests that contain this text.")
@click.option(
    "--since",
    metavar="TIME",
    help="Only requests since this time, such as 2026-03-05T10:00 or 10m (ago).",
)
@click.option("--until", metavar="TIME", help="Only requests until this time.")
@click.option(
    "--slower-than", type=float, metavar="MS", help="Only requests that took longer than this."
)
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1_000),
              help="How many requests, newest first.")  # fmt: skip
@click.option("--details", is_flag=True, help="Show input and output, if they were recorded.")
@click.option("--follow", "-f", is_flag=True, help="Keep printing new requests until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per request.")
def command(name: str | None, server: str, *, follow: bool, as_json: bool, **filters: Any) -> None:
    """List the newest requests of the project NAME, by default the only one.

    Each line is the time, the status of the response, the milliseconds it took, and the route; a
    failure names its file and line. Inputs and outputs are recorded for endpoints with 'history:
    full', with secrets removed.
    """
    for option in ("since", "until"):
        filters[option] = read_moment(filters[option])
    with open_remote(server) as remote:
        project = name or remote.only_project()
        after = 0
        while True:
            for request in remote.requests(project, after=after, **filters):
                after = request["id"]
                say(json.dumps(request) if as_json else "\n".join(lines(request)))
            if not follow:
                if not after and not as_json:
                    say("no recorded request matches")
                return
            time.sleep(FOLLOW_SECONDS)  # the server sends no notifications


def read_moment(text: str | None) -> float | None:
    """Return a time in seconds since 1970, from an ISO 8601 time or a duration ago.

    Raises:
        BadParameter: the text is neither.
    """
    if text is None:
        return None
    try:
        return time.time() - seconds(text)  # noqa: TID251 - the user's own clock
    except FlowError:
        moment = parse_datetime(text)
    if moment is None:
        raise click.BadParameter(f"expected a time such as 2026-03-05T10:00 or 10m, got '{text}'")
    return moment.timestamp()


def lines(request: dict[str, Any]) -> Iterator[str]:
    """Yield a request as text, with the calls that led to a failure, and its input and output."""
    yield line(request)
    yield from (f"    called by {printable(step)}" for step in request["steps"][-2::-1])
    exchange = request.get("exchange") or {}
    query = "&".join("=".join(pair) for pair in exchange.get("query", ()))
    for title, text in (("?", query), (">", exchange.get("input")), ("<", exchange.get("output"))):
        if text:
            yield f"    {title} {printable(text)}"


def line(request: dict[str, Any]) -> str:
    """Return a request as a line of text, with its failure on a second line."""
    color = {2: "green", 3: "cyan", 4: "yellow"}.get(request["status"] // 100, "red")
    status = click.style(str(request["status"]), fg=color)
    took = f"{request['milliseconds']:8.1f} ms"
    route = f"{request['method']:<6} {printable(request['path'])}"
    text = f"{request['at'][11:23]}  {status}  {took}  {route}"
    if request["failure"]:
        failure = f"{printable(request['step'])}: {printable(request['failure'])}"
        text += f"\n    {failure} [{request['request']}]"
    return text
