"""Replay recorded requests of the live API, and show which responses change."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from bbops.base.console import say
from bbops.base.errors import ServerError
from bbops.base.render import printable
from bbops.interfaces.cli._command_group import examples
from bbops.interfaces.cli._local_project import CHANGED_EXIT_CODE, NO_RECORDINGS, CompareCommand
from bbops.interfaces.cli._server import as_json_option, named_project, of_server, open_remote

if TYPE_CHECKING:
    from bbops.interfaces.client import Remote
    from bbops.review.replay.recorded import Recorded
    from bbops.review.replay.sending import ReplayDifference


@examples(
    "bbops replay --against new-prices",
    "bbops replay shop --against new-prices --endpoint notes/list",
)
@click.command(cls=CompareCommand)
@named_project
@of_server
@click.option(
    "--against", metavar="BRANCH", help="Send to the draft of this branch instead of the live API."
)
@click.option("--endpoint", metavar="NAME", help="Only requests of this endpoint.")
@click.option(
    "--limit", default=100, show_default=True, type=click.IntRange(1, 1_000),
    help="How many requests, newest first.",
)  # fmt: skip
@click.option(
    "headers", "--header", "-H", multiple=True, metavar="NAME:VALUE",
    help="Add this header, such as an authorization for requests that were signed in.",
)  # fmt: skip
@click.option(
    "--writes", is_flag=True, help="Also replay POST, PUT, PATCH and DELETE; only on a draft."
)
@as_json_option
def command(
    name: str | None, server: str, against: str | None,
    headers: tuple[str, ...], *, writes: bool, as_json: bool, **filters: Any,
) -> int:  # fmt: skip
    """Replay recorded requests of the project NAME, and show which responses change.

    Requests are recorded for endpoints with 'history: full'. Values that were recorded without
    their secret count as equal. Exits with 0 when nothing changes, with 2 when something does, and
    with 1 when that cannot be determined.
    """
    if writes and not against:
        raise click.UsageError("--writes only works on a draft: choose one with --against")
    given = dict(map(_read_header, headers))
    from bbops.review.replay.recorded import choose  # noqa: PLC0415 - after the cheap answers
    from bbops.review.replay.sending import replay  # noqa: PLC0415

    with open_remote(server) as remote:
        project = name or remote.only_project()
        recorded = [
            *choose(remote.requests(project, details=True, **filters), given, writes=writes)
        ]
        url, access = _target(remote, project, against)
        replayed = list(replay(url, recorded, access))
    _print_result(recorded, replayed, as_json=as_json)
    return CHANGED_EXIT_CODE if any(differences for _, differences in replayed) else 0


def _read_header(text: str) -> tuple[str, str]:
    name, sign, value = text.partition(":")
    if not sign or not name.strip():
        raise click.BadParameter(f"expected NAME:VALUE, got '{text}'")
    return name.strip().lower(), value.strip()


def _target(remote: Remote, project: str, branch: str | None) -> tuple[str, dict[str, str]]:
    """Return the URL to which requests are sent, and the headers that give access to it."""
    if branch is not None:
        access = remote.open_draft(project, remote.draft(project, branch).slug, 1)
        return access.url, {"x-draft-token": access.token}
    url = remote.status(project).url
    if not url:
        raise ServerError(f"project '{project}' has no address yet")
    return url, {}


def _print_result(
    recorded: list[Recorded],
    replayed: list[tuple[Recorded, list[ReplayDifference]]],
    *,
    as_json: bool,
) -> None:
    if as_json:
        say(json.dumps(as_json_value(recorded, replayed)))
        return
    if not recorded:
        say("\n".join(NO_RECORDINGS))
        return
    for request, differences in replayed:
        if differences:
            say(f"{request.method:<6} {printable(request.target)}")
        for difference in differences:
            values = f"{difference.before} → {difference.now}"
            say("    " + printable(f"{difference.at or 'body'}: {values}"))
    changed = sum(bool(differences) for _, differences in replayed)
    say(f"{changed} of {len(replayed)} responses would change")
    obstacles = Counter(request.obstacle for request in recorded if request.obstacle)
    for obstacle, count in obstacles.items():
        say(f"{count} not replayed: {obstacle}")


def as_json_value(
    recorded: list[Recorded], replayed: list[tuple[Recorded, list[ReplayDifference]]]
) -> dict[str, Any]:
    """Return the result of a replay as values of JSON."""
    return {
        "asked": [
            {
                "method": request.method, "target": request.target, "status": request.status,
                "differences": [difference._asdict() for difference in differences],
            }
            for request, differences in replayed
        ],
        "changed": sum(bool(differences) for _, differences in replayed),
        "notAsked": [
            {"method": request.method, "target": request.target, "reason": request.obstacle}
            for request in recorded if request.obstacle
        ],
    }  # fmt: skip
