"""Publish a commit that waits for a decision."""

from __future__ import annotations

import json

import click

from bbops.base.console import say
from bbops.base.errors import ServerError
from bbops.interfaces.cli._command_group import examples
from bbops.interfaces.cli._server import as_json_option, of_server, open_remote

_LIVE = "4d1e8f0a6b7c2d3e5f4a9b8c7d6e5f4a3b2c1d0e"
_HELD = "9f2c1ab4d03e58f7a6c1b2d4e5f60718293a4b5c"


@examples(f"bbops accept {_HELD}", f"bbops accept --range {_LIVE}..{_HELD}")
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

    Commits are named by their full ids, since another commit can begin with the same digits.

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
