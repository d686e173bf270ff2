"""List the requests that a server answered, or follow new ones."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import click
import msgspec

from bbops.base.console import say
from bbops.base.json_traffic import EndpointRanking, summarize_refusal
from bbops.base.render import printable
from bbops.interfaces.cli._command_group import examples
from bbops.interfaces.cli._server import named_project, of_server, open_remote
from bbops.runtime.values.failures import FlowError
from bbops.runtime.values.times import parse_datetime
from bbops.runtime.values.units import seconds

FOLLOW_SECONDS = 0.5
NO_ENDPOINT = "(no endpoint)"


@examples("bbops requests --status failed --follow", "bbops requests --summary --since 1d")
@click.command()
@named_project
@of_server
@click.option("--status", metavar="N", help="Only this status, a class such as 5xx, or 'failed'.")
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
@click.option("--summary", is_flag=True,
              help="Show the count, errors and percentiles of each endpoint.")  # fmt: skip
@click.option("--follow", "-f", is_flag=True, help="Keep printing new requests until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per request.")
def command(
    name: str | None, server: str, *, summary: bool, follow: bool, as_json: bool, **filters: Any
) -> None:  # fmt: skip
    """List the newest requests of the project NAME, by default the only one.

    Each line is the time, the status of the response, the milliseconds it took, and the route; a
    failure names its file and line. Inputs and outputs are recorded for endpoints with 'history:
    full', with secrets removed. A summary is of the last hour, unless '--since' is given.
    """
    for option in ("since", "until"):
        filters[option] = read_moment(filters[option])
    if summary:
        require_no_filters(follow=follow, **filters)
    with open_remote(server) as remote:
        project = name or remote.only_project()
        if summary:
            period = {option: filters[option] for option in ("since", "until", "limit")}
            ranking = remote.rank_endpoints(project, **period)
            say(msgspec.json.encode(ranking).decode() if as_json else "\n".join(rows(ranking)))
            return
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


def require_no_filters(**given: Any) -> None:
    """Reject the options that a summary does not have. Raises: UsageError: one is given."""
    allowed = {"since", "until", "limit"}
    for option, value in given.items():
        if value and option not in allowed:
            shown = option.replace("_", "-")
            raise click.UsageError(
                f"'--summary' counts all requests, so it does not work with '--{shown}'; only"
                " '--since', '--until', '--limit' and '--json' do"
            )


def rows(ranking: EndpointRanking) -> Iterator[str]:
    """Yield a ranking as lines of text, a line per endpoint."""
    if not ranking.slowest:
        yield "no recorded requests in this period"
        return
    names = [each.endpoint or NO_ENDPOINT for each in ranking.slowest]
    width = max(8, *map(len, names))
    yield f"{'endpoint':<{width}}  requests failed   p50 ms   p95 ms   p99 ms  slowest"
    for name, endpoint in zip(names, ranking.slowest, strict=True):
        total = endpoint.total
        times = (total.p50, total.p95, total.p99, total.slowest)
        shown = "".join(f"{0 if time is None else time:>9.1f}" for time in times)
        yield f"{printable(name):<{width}}  {total.count:>8}{total.failures:>7}{shown}"


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
    """Return a request as a line of text, with the reason of its failure or refusal on a second."""
    color = {2: "green", 3: "cyan", 4: "yellow"}.get(request["status"] // 100, "red")
    status = click.style(str(request["status"]), fg=color)
    took = f"{request['milliseconds']:8.1f} ms"
    route = f"{request['method']:<6} {printable(request['path'])}"
    text = f"{request['at'][11:23]}  {status}  {took}  {route}"
    if request["failure"]:
        failure = f"{printable(request['step'])}: {printable(request['failure'])}"
        text += f"\n    {failure} [{request['request']}]"
    elif request.get("refusal"):  # older servers have none
        place = f"{printable(request['refusal']['place'])}: " if request["refusal"]["place"] else ""
        text += f"\n    {place}{printable(summarize_refusal(request['refusal']))}"
    return text
