"""List, review and merge the proposals of a server's project.

`merge` exits with 1 when the merged commit is not live.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from bbops.base.console import say
from bbops.base.render import one_line, printable, render
from bbops.interfaces.cli._command_group import CommandGroup, examples
from bbops.interfaces.cli._local_project import NO_RECORDINGS
from bbops.interfaces.cli._server import as_json_option, of_project, of_server, open_remote
from bbops.interfaces.cli._target import print_list

if TYPE_CHECKING:
    from bbops.base.json_diagnostics import JsonDiagnostic
    from bbops.interfaces.answers import OtherProject, ProposalDetail, ReplayResult
    from bbops.source.git.proposals import Proposal

_COLORS = {"open": "green", "merged": "magenta", "closed": "red"}
_VERBS = {"approved": "approved", "refused": "requested changes", "commented": "commented"}

with_text = click.option(
    "-m", "--message", default="", metavar="TEXT", help="The text of the comment."
)
of_number = click.argument("number", type=click.IntRange(1))


@examples("bbops proposals list", "bbops proposals show 7")
@click.group(cls=CommandGroup)
def command() -> None:
    """List, review and merge the proposals of a server's project.

    'bbops propose' opens a proposal, and so does git push origin HEAD:refs/for/main/TOPIC.
    """


@examples("bbops proposals list", "bbops proposals list --state merged")
@command.command("list")
@click.option(
    "--state", type=click.Choice(["open", "merged", "closed", "all"]), default="open",
    show_default=True, help="Only proposals in this state.",
)  # fmt: skip
@of_project
@of_server
@as_json_option
def list_proposals(state: str, project: str | None, server: str, *, as_json: bool) -> None:
    """List proposals, newest first."""
    with open_remote(server) as remote:
        name = project or remote.only_project()
        proposals = remote.proposals(name, None if state == "all" else state)
    none = f"no proposal is {state}" if state != "all" else "there are no proposals yet"
    print_list(proposals, _line, none=none, as_json=as_json)


def _line(proposal: Proposal) -> str:
    state = click.style(f"{proposal.state:<6}", fg=_COLORS.get(proposal.state))
    more = "" if proposal.ready or proposal.state != "open" else ", not ready"
    title, author = one_line(proposal.title), one_line(proposal.author)
    return f"#{proposal.number:<4} {state}  {title}  ({author}{more})"


@examples("bbops proposals show 7", "bbops proposals show 7 --diff")
@command.command()
@of_number
@click.option("--diff", "with_diff", is_flag=True, help="Also show the diff.")
@of_project
@of_server
@as_json_option
def show(number: int, project: str | None, server: str, *, with_diff: bool, as_json: bool) -> None:
    """Show the effects of a proposal, its comments, and what blocks its merge.

    For a merged or closed proposal, show its last plan.
    """
    with open_remote(server) as remote:
        detail = remote.proposal(project or remote.only_project(), number)
    if as_json:
        _print(detail)
    else:
        say("\n".join(_lines(detail, with_diff=with_diff)))


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
        proposal = remote.mark_proposal(project or remote.only_project(), number, ready=not undo)
    if as_json:
        _print(proposal)
    else:
        say(f"proposal #{number} is {'ready' if proposal.ready else 'not ready'}")


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
        proposal = remote.mark_proposal(project or remote.only_project(), number, reviewers=emails)
    if as_json:
        _print(proposal)
    else:
        reviewers = printable(", ".join(proposal.reviewers)) or "no reviewers"
        say(f"review of proposal #{number} requested from: {reviewers}")


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
    """Approve a proposal in its current state; a later change needs a new approval."""
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


@examples(
    "bbops proposals merge 7",
    "bbops proposals merge 7 --head 9f2c1ab4d03e58f7a6c1b2d4e5f60718293a4b5c",
)
@command.command()
@of_number
@click.option(
    "--head",
    default="",
    metavar="COMMIT",
    help="Only if its head is still this commit, by its full id.",
)
@of_project
@of_server
@as_json_option
def merge(number: int, head: str, project: str | None, server: str, *, as_json: bool) -> int:
    """Merge a proposal, and wait until it is live.

    Exits with 0 when it is live, with 1 when it was merged but is not live, with 2 when the merge
    is blocked.
    """
    with open_remote(server) as remote:
        result = remote.merge(project or remote.only_project(), number, head)
    if as_json:
        _print(result)
    else:
        say(f"merged proposal #{number} as {result.proposal.merged[:12]}")
        for line in result.lines:
            say(printable(line))
    return int(not result.is_live)


@examples("bbops proposals replay 7")
@command.command()
@of_number
@of_project
@of_server
@as_json_option
def replay(number: int, project: str | None, server: str, *, as_json: bool) -> None:
    """Replay recorded requests of the live API on a proposal's draft, and show what changes.

    Replays only public GET requests of endpoints with 'history: full'. The result is stored, and
    shown with the proposal until it changes; it never blocks a merge.
    """
    with open_remote(server) as remote:
        result = remote.replay_proposal(project or remote.only_project(), number)
    if as_json:
        _print(result)
    else:
        say("\n".join(_replay_lines(result)))


@examples("bbops proposals close 7")
@command.command()
@of_number
@of_project
@of_server
@as_json_option
def close(number: int, project: str | None, server: str, *, as_json: bool) -> None:
    """Close a proposal without merging it: your own, or any that you may merge."""
    with open_remote(server) as remote:
        proposal = remote.close_proposal(project or remote.only_project(), number)
    if as_json:
        _print(proposal)
    else:
        say(f"closed proposal #{number}")


def _review(
    number: int, verdict: str, text: str, plan: str, project: str | None, server: str, *,
    as_json: bool,
) -> None:  # fmt: skip
    with open_remote(server) as remote:
        proposal = remote.review(project or remote.only_project(), number, verdict, text, plan)
    if as_json:
        _print(proposal)
    else:
        say(f"you {_VERBS[verdict]}: proposal #{number}, {printable(proposal.title)}")


def _lines(detail: ProposalDetail, *, with_diff: bool) -> list[str]:
    proposal = detail.proposal
    title = one_line(f"#{proposal.number} {proposal.title}")
    lines = [*_head(proposal), detail.page]
    if detail.preview:
        lines.append(f"preview {detail.preview}")
    lines += _effects(detail)
    for other in detail.others:
        lines += ["", f"project '{other.project}' of this repository:"]
        lines += _effects(other, other.folder)
    lines += _hidden(detail.hidden)
    lines += ["", detail.diff.rstrip("\n")] if with_diff and detail.diff else []
    lines += ["", *_replay_lines(detail.replayed)] if detail.replayed else []
    if proposal.state == "open":
        lines += ["", *(detail.obstacles or ("it can be merged",))]
        lines += [f"warning: {warning}" for warning in detail.warnings]
    for review in proposal.reviews:
        text = f": {_indent(review.text)}" if review.text else ""
        lines.append(f"{review.who} {_VERBS[review.verdict]} ({review.head[:12]}){text}")
    return [click.style(title, bold=True), *map(printable, lines)]


def _replay_lines(result: ReplayResult) -> list[str]:
    if not result.asked and not result.left:
        return [*NO_RECORDINGS]
    lines = []
    for request in result.changed:
        is_same = request.before == request.now
        status = str(request.now) if is_same else f"{request.before} → {request.now}"
        lines.append(f"{request.method} {request.route} {status}  {request.target}")
        lines += [
            f"    {place.at or 'body'}: {place.before} → {place.now}" for place in request.places
        ]
    lines.append(f"{len(result.changed)} of {result.asked} responses would change")
    if result.left:
        lines.append(f"{result.left} skipped: signed in, with a secret, or too slow")
    return lines


def _effects(part: ProposalDetail | OtherProject, folder: str = "") -> list[str]:
    lines = ["", part.text] if part.text else []
    lines += _render(part.diagnostics, folder)
    if part.tests:
        lines += ["", part.tests.summary, *_render(part.tests.diagnostics, folder)]
    return lines


def _hidden(count: int) -> list[str]:
    more = "1 more project" if count == 1 else f"{count} more projects"
    return ["", f"it changes {more} of this repository that you cannot read"] if count else []


def _render(diagnostics: Sequence[JsonDiagnostic], folder: str = "") -> list[str]:
    text = render([item.diagnostic() for item in diagnostics], "text", folder=folder)
    return ["", text] if text else []


def _head(proposal: Proposal) -> list[str]:
    state = _state(proposal)
    head = f"{state}, by {proposal.author} for {proposal.target}, {proposal.head[:12]}"
    reviewers = ", ".join(proposal.reviewers)
    requests = f"review requested from: {reviewers}" if reviewers else ""
    text = f"    {_indent(proposal.description)}" if proposal.description else ""
    return [head, *filter(None, [requests, text])]


def _indent(text: str) -> str:
    """Return a user's text with its lines indented, so that none looks like our output."""
    return text.strip().replace("\n", "\n    ")


def _state(proposal: Proposal) -> str:
    is_draft = proposal.state == "open" and not proposal.ready
    return "open, not ready" if is_draft else proposal.state


def _print(value: Any) -> None:
    say(msgspec.json.encode(value).decode())
