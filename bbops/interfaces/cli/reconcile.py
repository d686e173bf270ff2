"""Make a server publish the newest commit now."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any, Final

import click

from bbops.base.console import say, wants_color
from bbops.base.errors import WaitTimeout
from bbops.base.render import printable, render
from bbops.interfaces.cli._command_group import examples
from bbops.interfaces.cli._server import as_json_option, named_project, of_server, open_remote

if TYPE_CHECKING:
    from bbops.interfaces.answers import Status
    from bbops.interfaces.client import Remote

WAIT_SECONDS: Final = 300.0
_POLL_SECONDS: Final = 0.1
_MIN_SECONDS: Final = 1.0
"""The shortest timeout of a request for the status."""
_SHORT: Final = 12


@examples("bbops reconcile shop", "bbops reconcile --wait")
@click.command()
@named_project
@of_server
@click.option("--wait", "waits", is_flag=True, help="Wait until the commit is live or has stalled.")
@click.option(
    "--timeout", "timeout_seconds", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS",
    help=f"How long --wait waits.  [default: {WAIT_SECONDS:g}]",
)  # fmt: skip
@as_json_option
def command(
    name: str | None, server: str, timeout_seconds: float | None, *, waits: bool, as_json: bool
) -> int:
    """Make the project NAME, by default the only one, publish its newest commit now.

    It fetches the repository at once and retries a stalled commit, including a migration that took
    too long, which a restart does not retry. A commit that is already live is not published again.
    'bbops status' shows the result.

    With --wait it exits with 0 when the newest commit is live, with 1 when it has stalled or the
    timeout has passed.
    """
    if timeout_seconds is not None and not waits:
        raise click.UsageError("'--timeout' has no effect without '--wait'")
    with open_remote(server) as remote:
        project = name or remote.only_project()
        if waits:
            status = _publish(remote, project, timeout_seconds or WAIT_SECONDS)
            _report(status, as_json=as_json)
            return int(not status.is_ready)
        remote.reconcile(project)
    if as_json:
        say(json.dumps({"project": project, "reconciling": True}))
    else:
        name = printable(project)
        say(f"{name} is publishing its newest commit; 'bbops status' shows the progress")
    return 0


def _publish(remote: Remote, project: str, timeout_seconds: float) -> Status:
    """Return the status of a project once its newest commit is live or has stalled.

    Raises:
        WaitTimeout: neither has happened within the timeout.
    """
    end = time.monotonic() + timeout_seconds
    requested_at = remote.reconcile(project)
    while (left := end - time.monotonic()) > 0:
        status = remote.status(project, seconds=max(left, _MIN_SECONDS))
        # A status from before the request may be about the commit before.
        is_handled = status.handled_at is not None and status.handled_at >= requested_at
        is_over = status.is_ready or status.find("Stalled") is not None
        if is_handled and is_over and not status.is_reconciling:
            return status
        time.sleep(_POLL_SECONDS)
    raise WaitTimeout(
        f"the newest commit of '{project}' is not live after {timeout_seconds:g} s, "
        "and has not stalled",
        hint="'bbops status' shows the progress; wait longer with --timeout SECONDS",
    )


def _report(status: Status, *, as_json: bool) -> None:
    if as_json:
        say(json.dumps(_as_dict(status)))
    elif status.is_ready:
        version = f" as {status.version}" if status.version else ""
        say(f"live: {_short_release(status)}{version} at {printable(status.url)}")
    else:
        _report_stalled(status)


def _report_stalled(status: Status) -> None:
    stalled, release = status.find("Stalled"), _short_release(status)
    serving = f"{release} keeps serving" if release else "nothing is live yet"
    say(f"not live: {serving} [{stalled.reason if stalled else ''}]")
    if status.diagnostics:
        diagnostics = [item.diagnostic() for item in status.diagnostics]
        say(render(diagnostics, "text", color=wants_color(sys.stdout)))
    elif stalled:
        say(printable(stalled.message))


def _as_dict(status: Status) -> dict[str, Any]:
    from msgspec import to_builtins  # noqa: PLC0415 - only for this

    stalled = None if status.is_ready else status.find("Stalled")
    return {
        "project": status.name, "live": status.is_ready, "revision": status.attempted_revision,
        "release": status.release, "version": status.version, "url": status.url,
        "reason": stalled.reason if stalled else "", "message": stalled.message if stalled else "",
        "diagnostics": to_builtins(status.diagnostics),
    }  # fmt: skip


def _short_release(status: Status) -> str:
    return printable((status.release or "")[:_SHORT])
