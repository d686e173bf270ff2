"""Propose the commits of the current branch for the live branch of a server."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bbops.base.console import say
from bbops.base.errors import BbopsError, GitError
from bbops.base.render import printable
from bbops.interfaces.cli._command_group import examples
from bbops.interfaces.cli._server import find_token, of_server, open_remote

if TYPE_CHECKING:
    from bbops.source.git.command import Answer

PUSH_SECONDS = 300.0
_NUMBER = re.compile(r"(?:opened|updated) proposal #(\d+)")
_REMOTE = "remote: "
_READY = {None: "", True: "yes", False: "no"}


@examples("bbops propose", 'bbops propose --title "New prices" --reviewer bob@example.com')
@click.command()
@click.option("--title", default="", help="The title; by default the commit's first line.")
@click.option("-m", "--message", default="", metavar="TEXT", help="The description.")
@click.option("--topic", default="", help="The proposal's name; by default the branch name.")
@click.option("--target", default="", metavar="BRANCH", help="By default the live branch.")
@click.option("--ready/--not-ready", default=None, help="Whether it may be merged.")
@click.option(
    "--reviewer", "reviewers", multiple=True, metavar="EMAIL", help="Request a review from a user.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace the proposed commits (force push).")
@click.option("--project", metavar="NAME", help="The project, if the server has several.")
@of_server
@click.option("--json", "as_json", is_flag=True, help="Print the proposal as JSON.")
def command(
    title: str, message: str, topic: str, target: str, project: str | None, server: str, *,
    ready: bool | None, reviewers: tuple[str, ...], force: bool, as_json: bool,
) -> None:  # fmt: skip
    """Open a proposal to merge the checked-out branch into the live branch of a server.

    The server checks, previews and plans it; a second run with the same topic updates it. The
    token needs the scope 'git', too: bbops login --scope deploy --scope git.
    """
    from bbops.source.git.place import find_repository, read_head  # noqa: PLC0415 - after --help

    place = find_repository(Path())
    with open_remote(server) as remote:
        name = project or remote.only_project()
        onto = target or remote.status(name).branch
        topic = topic or read_head(place)
        if topic in {"", onto}:
            raise BbopsError(
                f"a proposal for '{onto}' needs a topic",
                hint="use --topic NAME, or commit on another branch",
            )
        options = {"title": title, "description": message, "force": "yes" if force else "",
                   "ready": _READY[ready], "reviewers": ",".join(reviewers)}  # fmt: skip
        given = [part for key, value in options.items() if value
                 for part in ("--push-option", f"{key}={value}")]  # fmt: skip
        url = f"{server.rstrip('/')}/git/{name}.git"
        lines = _push(url, [*given, url, f"HEAD:refs/for/{onto}/{topic}"], find_token(server))
        matches = filter(None, map(_NUMBER.match, lines))
        number = next((int(match[1]) for match in matches), 0)
        if as_json:
            from msgspec import to_builtins  # noqa: PLC0415 - only for this

            say(json.dumps(to_builtins(remote.proposal(name, number))))
            return
    for line in lines:
        say(printable(line))


def _push(url: str, arguments: Sequence[str], token: str) -> list[str]:
    """Push, and return the lines that the server printed.

    Raises:
        GitError: the push was rejected; the message is the server's output.
    """
    from bbops.source.git.command import failure, run  # noqa: PLC0415 - after --help
    from bbops.source.git.environment import Limits  # noqa: PLC0415
    from bbops.source.git.place import find_repository  # noqa: PLC0415

    header = {"http.extraHeader": f"Authorization: Bearer {token}"} if token else {}
    answer = run(
        find_repository(Path()), ("push", *arguments), scheme=url.partition(":")[0],
        settings=header, limits=Limits(seconds=PUSH_SECONDS),
    )  # fmt: skip
    lines = _server_lines(answer)
    if answer.status or answer.ended:
        if lines:
            raise GitError("\n".join(lines))
        raise failure(answer, ("push",), hint="bbops login --scope deploy --scope git")
    return lines


def _server_lines(answer: Answer) -> list[str]:
    lines = answer.complaint.splitlines()
    rejected = [line.partition("] ")[2] for line in lines if line.startswith(" ! [")]
    return [line.removeprefix(_REMOTE).rstrip() for line in lines if line.startswith(_REMOTE)] + [
        line.partition(" (")[2].rstrip(")") for line in rejected if "hook declined" not in line
    ]
