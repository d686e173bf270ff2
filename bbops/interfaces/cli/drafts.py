"""List the drafts of a server's branches, and get access to one."""

from __future__ import annotations

import json
import re
from typing import Final

import click

from bbops.base.console import say
from bbops.base.render import plural, printable
from bbops.interfaces.answers import DraftStatus
from bbops.interfaces.cli._command_group import CommandGroup, examples
from bbops.interfaces.cli._server import as_json_option, of_project, of_server, open_remote
from bbops.interfaces.cli._target import print_list
from bbops.runtime.values.units import seconds

_LONGEST_SECONDS: Final = 86_400
_COLORS = {"awake": "magenta", "stalled": "red", "waking": "yellow"}


@examples("bbops drafts list", "bbops drafts token new-prices --hours 8")
@click.group(cls=CommandGroup)
def command() -> None:
    """List the drafts of a server's branches, and get access to one.

    Each branch but the live one is served below /~drafts/ of its project, with a database of its
    own. A draft starts with its first request, sleeps when it is idle, and is deleted with its
    branch.
    """


@examples("bbops drafts list", "bbops drafts list --project shop")
@command.command("list")
@of_project
@of_server
@as_json_option
def show(project: str | None, server: str, *, as_json: bool) -> None:
    """List the drafts, most recent commit first."""
    with open_remote(server) as remote:
        drafts = remote.drafts(project or remote.only_project())
    none = "no drafts: the server has only the live branch; push another branch to create one"
    print_list(drafts, _line, none=none, as_json=as_json)


@examples("bbops drafts token new-prices", "bbops drafts token new-prices --hours 8")
@command.command("token")
@click.argument("branch")
@click.option(
    "--hours",
    default=12,
    show_default=True,
    type=click.IntRange(1, 720),
    help="How many hours the token is valid.",
)
@of_project
@of_server
@as_json_option
def token(branch: str, hours: int, project: str | None, server: str, *, as_json: bool) -> None:
    """Create a token for the draft of BRANCH; send it as the header x-draft-token.

    It stops working when you lose your role in the project, and cannot be revoked earlier. If the
    output is a pipe, only the token is printed.
    """
    with open_remote(server) as remote:
        name = project or remote.only_project()
        access = remote.open_draft(name, remote.draft(name, branch).slug, hours)
    if as_json:
        say(json.dumps({"url": access.url, "token": access.token, "expires_at": access.expires_at}))
        return
    say(access.token)
    click.echo(f"for {access.url} until {access.expires_at}", err=True)


@examples("bbops drafts renew new-prices")
@command.command("renew")
@click.argument("branch")
@of_project
@of_server
@as_json_option
def renew(branch: str, project: str | None, server: str, *, as_json: bool) -> None:
    """Reset the draft of BRANCH to an empty database."""
    with open_remote(server) as remote:
        name = project or remote.only_project()
        remote.renew_draft(name, remote.draft(name, branch).slug)
    if as_json:
        say(json.dumps({"project": name, "renewed": branch}))
        return
    say(f"the draft of {printable(branch)} starts again at its next request")


@examples("bbops drafts work new-prices --for 2h", "bbops drafts work new-prices --off")
@command.command("work")
@click.argument("branch")
@click.option("--for", "length", default="1h", show_default=True, metavar="TIME",
              help="How long, such as 30m or 2h; a day at most.")  # fmt: skip
@click.option("--off", is_flag=True, help="Hold jobs and tasks again.")
@of_project
@of_server
@as_json_option
def work(
    branch: str, length: str, project: str | None, server: str, *, off: bool, as_json: bool
) -> None:  # fmt: skip
    """Run the jobs and tasks of the draft of BRANCH automatically for a time.

    Otherwise its tasks do not run, and its jobs are held until 'bbops jobs release --draft BRANCH'
    runs them. The permission ends when the draft goes to sleep, or when its process restarts.
    """
    until = 0.0 if off else _seconds(length)
    with open_remote(server) as remote:
        name = project or remote.only_project()
        released = remote.run_draft(name, remote.draft(name, branch).slug, until)
    if as_json:
        say(json.dumps({"branch": branch, "seconds": until, "released": released}))
    elif off:
        say(f"jobs of {printable(branch)} are held again")
    else:
        say(f"jobs and tasks of {printable(branch)} run automatically for {length}")
        if released:
            say(f"released {plural(released, 'job')}")


def _seconds(length: str) -> float:
    if not re.fullmatch(r"\d{1,6}(ms|s|m|h|d)", length):
        raise click.BadParameter(f"'{length}' is not a time such as 30m or 2h", param_hint="--for")
    duration = seconds(length)
    if duration > _LONGEST_SECONDS:
        raise click.BadParameter("the longest time is a day", param_hint="--for")
    return duration


@examples("bbops drafts allow new-prices api.example.com")
@command.command("allow")
@click.argument("branch")
@click.argument("hosts", nargs=-1, required=True)
@click.option(
    "--commit", metavar="ID", help="The full id of the reviewed commit; default: the newest."
)
@of_project
@of_server
@as_json_option
def allow(
    branch: str, hosts: tuple[str, ...], commit: str | None, project: str | None, server: str,
    *, as_json: bool,
) -> None:  # fmt: skip
    """Let the draft of BRANCH reach HOSTS; for maintainers.

    The code of a draft has not been reviewed: it reaches only the hosts that the live release
    reaches. The permission is for one commit; the next push ends it. A host without a
    port (api.example.com:8443) is reached at the default ports of HTTP and HTTPS.
    """
    with open_remote(server) as remote:
        name = project or remote.only_project()
        draft = remote.draft(name, branch)
        allowed = remote.allow_hosts(name, draft.slug, commit or draft.commit, list(hosts))
    if as_json:
        say(json.dumps({"branch": branch, "hosts": allowed}))
        return
    say(f"{printable(branch)} may reach {', '.join(map(printable, allowed))} at {draft.commit}")


@examples(
    "bbops drafts copy new-prices",
    "bbops drafts copy new-prices users notes --rows 100 --mask users.name",
)
@command.command("copy")
@click.argument("branch")
@click.argument("tables", nargs=-1)
@click.option(
    "--rows", default=1_000, show_default=True, type=click.IntRange(1, 100_000),
    help="How many rows to copy from each table, newest first.",
)  # fmt: skip
@click.option("--mask", multiple=True, metavar="TABLE.COLUMN", help="Also mask this column.")
@of_project
@of_server
@as_json_option
def copy(
    branch: str, tables: tuple[str, ...], rows: int, mask: tuple[str, ...], project: str | None,
    server: str, *, as_json: bool,
) -> None:  # fmt: skip
    """Copy live rows of TABLES, by default of all, into the draft of BRANCH; for maintainers.

    Columns with 'private: true' are masked, and so are those of --mask. Rows to which a copied row
    refers are copied too; rows that already exist are not changed.
    """
    with open_remote(server) as remote:
        name = project or remote.only_project()
        slug = remote.draft(name, branch).slug
        counts = remote.copy_rows(name, slug, list(tables), rows, list(mask))
    if as_json:
        say(json.dumps({"rows": counts}))
        return
    for table, count in counts.items():
        say(f"{count:>7}  {printable(table)}")


def _line(draft: DraftStatus) -> str:
    state = click.style(f"{draft.state:<8}", fg=_COLORS.get(draft.state))
    line = f"{state}  {draft.commit[:12]}  {printable(draft.branch)}  {draft.url}"
    return f"{line}\n    {printable(draft.message)}" if draft.message else line
