"""Publish a commit that waits for a decision."""

from __future__ import annotations

import json

import click

from bbops.base.console import say
from bbops.base.errors import ServerError
from bbops.interfaces.cli._examples import examples
from bbops.interfaces.cli._server import as_json_option, of_server, open_remote


@examples("bbops accept 9f2c1ab", "bbops accept --range 4d1e8f0..9f2c1ab")
@click.command()
@click.argument("commit", required=False)
@click.option(
    "--range",
    "between",
    metavar="A..B",
    help="Accept all commits after A, the live one, up to and including B.",
)
@click.option("--project", metavar="NAME", help="The project, if the server has several.")
@of_server
@as_json_option
def command(
    commit: str | None, between: str | None, project: str | None, server: str, *, as_json: bool
) -> None:  # fmt: skip
    """Accept COMMIT, which is held until a user decides; 'bbops status' shows the reason.

    HistoryRewritten: COMMIT does not follow the live commit; the decision also covers later
    commits that follow COMMIT. ReviewMissing: it reached an external repository without the review
    that 'review' requires; --range accepts several commits. SignatureMissing: it lacks the
    signature that 'review.signed' requires. ForgeAway, ForgeForbidden, ForgeFailed: the forge does
    not tell whether it was reviewed. TooMuchRemoved: it removes more of the project than
    'review.maxRemovedPercent' allows.
    """
    base, commit = _read(commit, between)
    with open_remote(server) as remote:
        if project is None:
            project = _only(server, [line.name for line in remote.projects()])
        remote.accept(project, commit, base)
    if as_json:
        say(json.dumps({"project": project, "accepted": commit}))
        return
    say(f"accepted {commit}; 'bbops status' shows when it is live")


def _read(commit: str | None, between: str | None) -> tuple[str, str]:
    """Return the base of a range, empty without one, and the commit to accept."""
    base, dots, newest = (between or "").partition("..")
    if (commit is None) == (between is None) or (between is not None and not (dots and newest)):
        raise click.UsageError("give a COMMIT, or --range A..B")
    return base, newest or commit or ""


def _only(server: str, names: list[str]) -> str:
    if len(names) == 1:
        return names[0]
    raise ServerError(
        f"the server at '{server}' has {len(names)} projects",
        hint=f"choose one with --project: {', '.join(names)}" if names else "",
    )
