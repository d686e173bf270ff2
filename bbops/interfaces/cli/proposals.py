"""List, review and merge the proposals of a server's project.

`merge` exits with 1 when what was merged is not live.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from bbops.base.console import say
from bbops.base.render import one_line, printable, render
from bbops.interfaces.cli._comparing import NOTHING_KEPT
from bbops.interfaces.cli._examples import examples
from bbops.interfaces.cli._family import Family
from bbops.interfaces.cli._listing import say_list
from bbops.interfaces.cli._server import as_json_option, of_project, of_server, open_remote

if TYPE_CHECKING:
    from bbops.base.json_diagnostics import JsonDiagnostic
    from bbops.interfaces.answers import OtherProject, ProposalDetail, Replayed
    from bbops.source.git.proposals import Proposal

_COLOURS = {"open": "green", "merged": "magenta", "closed": "red"}
_VERBS = {"approved": "approved", "refused": "requested changes", "commented": "said"}

with_text = click.option(
    "-m", "--message", default="", metavar="TEXT", help="The text of the comment."
)
of_number = click.argument("number", type=click.IntRange(1))


@examples("bbops proposals list", "bbops proposals show 7")
@click.group(cls=Family)
def command() -> None:
    """List, review and merge the proposals of a server's project.

    'bbops propose' opens one, and so does git push origin HEAD:refs/for/main/TOPIC.
    """


@examples("bbops proposals list", "bbops proposals list --state merged")
@command.command("list")
@click.option(
    "--state", type=click.Choice(["open", "merged", "closed", "all"]), default="open",
    show_default=True, help="Which.",
)  # fmt: skip
@of_project
@of_server
@as_json_option
def show_all(state: str, project: str | None, server: str, *, as_json: bool) -> None:
    """List proposals, newest first."""
    with open_remote(server) as remote:
        name = project or remote.only_project()
        found = remote.proposals(name, None if state == "all" else state)
    none = f"no proposal is {state}" if state != "all" else "there are no proposals yet"
    say_list(found, _line, none=none, as_json=as_json)


def _line(one: Proposal) -> str:
    state = click.style(f"{one.state:<6}", fg=_COLOURS.get(one.state))
    more = "" if one.ready or one.state != "open" else ", not ready"
    return f"#{one.number:<4} {state}  {one_line(one.title)}  ({one_line(one.author)}{more})"


@examples("bbops proposals show 7", "bbops proposals show 7 --diff")
@command.command()
@of_number
@click.option("--diff", "with_diff", is_flag=True, help="Also show the diff.")
@of_project
@of_server
@as_json_option
def show(number: int, project: str | None, server: str, *, with_diff: bool, as_json: bool) -> None:
    """Show what a proposal would do, its comments, and what blocks its merge.

    For one that was merged or closed, show the last plan that was made.
    """
    with open_remote(server) as remote:
        found = remote.proposal(project or remote.only_project(), number)
    if as_json:
        _print(found)
    else:
        say("\n".join(_lines(found, with_diff=with_diff)))


@examples("bbops proposals ready 7", "bbops proposals ready 7 --undo")
@command.command()
@of_number
@click.option("--undo", is_flag=True, help="Mark it as not ready again.")
@of_project
@of_server
@as_json_option
def ready(number: int, project: str | None, server: str, *, undo: bool, as_json: bool) -> None:
    """Mark a proposal as ready to merge: your own, or any that you may merge."""
    with open_remote(server) as remote:
        done = remote.mark_proposal(project or remote.only_project(), number, ready=not undo)
    if as_json:
        _print(done)
    else:
        say(f"proposal #{number} is {'ready' if done.ready else 'not ready'}")


@examples("bbops proposals ask 7 bob@example.com")
@command.command()
@of_number
@click.argument("emails", nargs=-1, metavar="[EMAIL]...")
@of_project
@of_server
@as_json_option
def ask(
    number: int, emails: tuple[str, ...], project: str | None, server: str, *, as_json: bool
) -> None:
    """Request a review from these people, replacing earlier requests."""
    with open_remote(server) as remote:
        done = remote.mark_proposal(project or remote.only_project(), number, reviewers=emails)
    if as_json:
        _print(done)
    else:
        asked = printable(", ".join(done.reviewers)) or "nobody"
        say(f"asked for a review of proposal #{number}: {asked}")


@examples("bbops proposals approve 7", 'bbops proposals approve 7 -m "Good names"')
@command.command()
@of_number
@with_text
@click.option("--plan", default="", metavar="DIGEST", help="Only if its plan is still this one.")
@of_project
@of_server
@as_json_option
def approve(
    number: int, message: str, plan: str, project: str | None, server: str, *, as_json: bool
) -> None:
    """Approve a proposal as it is now; a later change needs a new approval."""
    _review(number, "approved", message, plan, project, server, as_json=as_json)


@examples('bbops proposals refuse 7 -m "It breaks the app"')
@command.command()
@of_number
@with_text
@of_project
@of_server
@as_json_option
def refuse(number: int, message: str, project: str | None, server: str, *, as_json: bool) -> None:
    """Request changes: it cannot be merged until you approve."""
    _review(number, "refused", message, "", project, server, as_json=as_json)


@examples('bbops proposals comment 7 "Who calls this?"')
@command.command()
@of_number
@click.argument("text")
@of_project
@of_server
@as_json_option
def comment(number: int, text: str, project: str | None, server: str, *, as_json: bool) -> None:
    """Comment on a proposal."""
    _review(number, "commented", text, "", project, server, as_json=as_json)


@examples("bbops proposals merge 7", "bbops proposals merge 7 --head 9f2c1ab")
@command.command()
@of_number
@click.option("--head", default="", metavar="COMMIT", help="Only if its head is still this commit.")
@of_project
@of_server
@as_json_option
def merge(number: int, head: str, project: str | None, server: str, *, as_json: bool) -> int:
    """Merge a proposal, and wait until it is live.

    Exits with 0 when it is live, with 1 when it was merged and is not, with 2 when the merge is
    blocked.
    """
    with open_remote(server) as remote:
        done = remote.merge(project or remote.only_project(), number, head)
    if as_json:
        _print(done)
    else:
        say(f"merged proposal #{number} as {done.proposal.merged[:12]}")
        for line in done.lines:
            say(printable(line))
    return int(not done.is_live)


@examples("bbops proposals replay 7")
@command.command()
@of_number
@of_project
@of_server
@as_json_option
def replay(number: int, project: str | None, server: str, *, as_json: bool) -> None:
    """Replay recorded requests of the live API on a proposal's draft, and show what changes.

    Replays only public GET requests of endpoints with 'history: full'. What is found is kept, and
    shown with the proposal until it changes; it never blocks a merge.
    """
    with open_remote(server) as remote:
        done = remote.replay_proposal(project or remote.only_project(), number)
    if as_json:
        _print(done)
    else:
        say("\n".join(_replayed(done)))


@examples("bbops proposals close 7")
@command.command()
@of_number
@of_project
@of_server
@as_json_option
def close(number: int, project: str | None, server: str, *, as_json: bool) -> None:
    """Close a proposal without merging it: your own, or any that you may merge."""
    with open_remote(server) as remote:
        done = remote.close_proposal(project or remote.only_project(), number)
    if as_json:
        _print(done)
    else:
        say(f"closed proposal #{number}")


def _review(
    number: int, verdict: str, text: str, plan: str, project: str | None, server: str, *,
    as_json: bool,
) -> None:  # fmt: skip
    with open_remote(server) as remote:
        done = remote.review(project or remote.only_project(), number, verdict, text, plan)
    if as_json:
        _print(done)
    else:
        say(f"you {_VERBS[verdict]}: proposal #{number}, {printable(done.title)}")


def _lines(found: ProposalDetail, *, with_diff: bool) -> list[str]:
    one = found.proposal
    title, lines = one_line(f"#{one.number} {one.title}"), [*_head(one), found.page]
    if found.preview:
        lines.append(f"preview {found.preview}")
    lines += _part(found)
    for beside in found.others:
        lines += ["", f"project '{beside.project}' of this repository:"]
        lines += _part(beside, beside.folder)
    lines += _hidden(found.hidden)
    lines += ["", found.diff.rstrip("\n")] if with_diff and found.diff else []
    lines += ["", *_replayed(found.replayed)] if found.replayed else []
    if one.state == "open":
        lines += ["", *(found.obstacles or ("it can be merged",))]
    for each in one.reviews:
        said = f": {_inner(each.text)}" if each.text else ""
        lines.append(f"{each.who} {_VERBS[each.verdict]} ({each.head[:12]}){said}")
    return [click.style(title, bold=True), *map(printable, lines)]


def _replayed(found: Replayed) -> list[str]:
    if not found.asked and not found.left:
        return [*NOTHING_KEPT]
    lines = []
    for one in found.changed:
        status = f"{one.before} → {one.now}" if one.before != one.now else str(one.now)
        lines.append(f"{one.method} {one.route} {status}  {one.target}")
        lines += [f"    {each.at or 'body'}: {each.before} → {each.now}" for each in one.places]
    lines.append(f"{len(found.changed)} of {found.asked} responses would change")
    if found.left:
        lines.append(f"{found.left} skipped: signed in, with a secret, or too slow")
    return lines


def _part(found: ProposalDetail | OtherProject, folder: str = "") -> list[str]:
    lines = ["", found.text] if found.text else []
    lines += _tell(found.diagnostics, folder)
    if found.tests:
        lines += ["", found.tests.summary, *_tell(found.tests.diagnostics, folder)]
    return lines


def _hidden(count: int) -> list[str]:
    more = "1 more project" if count == 1 else f"{count} more projects"
    return ["", f"it changes {more} of this repository that you cannot read"] if count else []


def _tell(found: Sequence[JsonDiagnostic], folder: str = "") -> list[str]:
    told = render([each.diagnostic() for each in found], "text", folder=folder)
    return ["", told] if told else []


def _head(one: Proposal) -> list[str]:
    told = f"{_state(one)}, by {one.author} for {one.target}, {one.head[:12]}"
    asked = f"asked for a review: {', '.join(one.reviewers)}" if one.reviewers else ""
    said = f"    {_inner(one.description)}" if one.description else ""
    return [told, *filter(None, [asked, said])]


def _inner(text: str) -> str:
    """Return what somebody wrote so that none of its lines is taken for one of ours."""
    return text.strip().replace("\n", "\n    ")


def _state(one: Proposal) -> str:
    return "open, not ready" if one.state == "open" and not one.ready else one.state


def _print(value: Any) -> None:
    say(msgspec.json.encode(value).decode())
