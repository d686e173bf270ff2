"""List the requests a server answered, or follow them as they come."""

from __future__ import annotations

import json
import time
from typing import Any

import click

from bbops.cli._server import of_server, open_remote
from bbops.console import say
from bbops.render import printable

FOLLOW_SECONDS = 0.5


@click.command()
@click.argument("name", required=False)
@of_server
@click.option("--status", metavar="N", help="Only this status, or a class such as 5xx.")
@click.option("--method", help="Only this method.")
@click.option("--path", help="Only this path.")
@click.option("--slower-than", type=float, metavar="MS", help="Only those that took longer.")
@click.option("--limit", default=50, show_default=True, help="How many, the newest.")
@click.option("--follow", "-f", is_flag=True, help="Wait for more, until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per request.")
def command(name: str | None, server: str, *, follow: bool, as_json: bool, **filters: Any) -> None:
    """List the newest requests of the project NAME, by default the only one.

    Each line is the time, the answer's status, the milliseconds it took, and the route; a failure
    names its file and line.
    """
    with open_remote(server) as remote:
        project = name or remote.only_project()
        after = 0
        while True:
            for one in remote.requests(project, after=after, **filters):
                after = one["id"]
                say(json.dumps(one) if as_json else line(one))
            if not follow:
                return
            time.sleep(FOLLOW_SECONDS)


def line(one: dict[str, Any]) -> str:
    """Return a request as one line of text, a failure on a second one."""
    colour = {2: "green", 3: "cyan", 4: "yellow"}.get(one["status"] // 100, "red")
    status = click.style(str(one["status"]), fg=colour)
    took = f"{one['milliseconds']:8.1f} ms"
    text = f"{one['at'][11:23]}  {status}  {took}  {one['method']:<6} {printable(one['path'])}"
    if one["failure"]:
        text += f"\n    {printable(one['step'])}: {printable(one['failure'])} [{one['request']}]"
    return text
