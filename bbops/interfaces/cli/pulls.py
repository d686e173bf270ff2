"""List the pull requests of a hosted repository, and allow the code of a fork to run."""

from __future__ import annotations

import click

from bbops.base.render import one_line, printable
from bbops.interfaces.answers import AllowedPull, ForgeStatus, PullStatus
from bbops.interfaces.cli._command_group import CommandGroup, examples
from bbops.interfaces.cli._target import ProjectTarget, print_list, with_project_target


@examples("bbops pulls list", "bbops pulls allow 7 --head 4f3c2a1b9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a")
@click.group(cls=CommandGroup)
def command() -> None:
    """List the pull requests of a hosted repository, and allow the code of a fork to run.

    For projects with 'forge' in server.yaml. Proposals of the server's own git are listed by
    'bbops proposals'.
    """


@examples("bbops pulls list", "bbops pulls list --project shop --json")
@command.command("list")
@with_project_target
def list_pulls(target: ProjectTarget) -> None:
    """List open pull requests with their checks, newest first, and why a check failed."""
    status = target.read("pulls", ForgeStatus)
    if status.problem:
        click.echo(f"the forge is not up to date: {one_line(status.problem)}", err=True)
    if status.postponed:
        click.echo(f"forks wait: {one_line(status.postponed)}", err=True)
    none = f"no open pull requests in {printable(status.repository)}"
    print_list(status.pulls, _line, none=none, as_json=target.as_json)


@examples("bbops pulls allow 7 --head 4f3c2a1b9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a")
@command.command("allow")
@click.argument("number", type=click.IntRange(min=1))
@click.option("--head", required=True, metavar="COMMIT", help="The full id of the read commit.")
@with_project_target
def allow(number: int, head: str, target: ProjectTarget) -> None:
    """Allow the code of a fork's pull request to run: its tests, and a preview without env values.

    Read its changes first. A later commit of the pull request needs another decision.
    """
    allowed = target.change(f"pulls/{number}/allow", AllowedPull, {"head": head})
    target.print(allowed, f"tests and preview of #{number} at {allowed.head} run now")


def _line(pull: PullStatus) -> str:
    unfinished = "checking" if not pull.check else "failed"
    state = "ok" if pull.is_ok else "waits" if pull.waits else unfinished
    command = f"bbops pulls allow {pull.number} --head {printable(pull.head)}"
    fork = "" if pull.runs else f"  (fork: '{command}' runs its code)"
    color = {"ok": "green", "failed": "red"}.get(state, "yellow")
    title = one_line(pull.title)
    line = f"#{pull.number}  {click.style(state, fg=color)}  {pull.head[:12]}  {title}{fork}"
    reason = one_line(pull.reason or pull.check) if state == "failed" else ""
    return f"{line}\n    {reason}" if reason else line
