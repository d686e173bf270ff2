"""Roll back to a version: make a commit that restores it, or some of its resources."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bbops.base.console import say
from bbops.base.errors import BbopsError, GitError, ServerError
from bbops.base.render import printable
from bbops.interfaces.cli import plan
from bbops.interfaces.cli._command_group import examples
from bbops.interfaces.cli._local_project import (
    LocalProject,
    find_local_project,
    path_option,
    read_own_versions,
)
from bbops.interfaces.cli._server import of_server, open_remote

if TYPE_CHECKING:
    from bbops.interfaces.answers import RollbackResult
    from bbops.interfaces.client import Remote

WAIT_SECONDS = 120.0
_POLL_SECONDS = 0.1


@examples("bbops rollback v3 --dry-run", "bbops rollback v3 --now")
@click.command()
@click.argument("version")
@click.option(
    "--only", multiple=True, metavar="RESOURCE",
    help="Only roll back this resource, such as endpoints/orders/list; can be repeated.",
)  # fmt: skip
@click.option("--propose", is_flag=True, help="Have the server open a proposal for it.")
@click.option("--now", is_flag=True, help="Have the server roll back at once; for maintainers.")
@click.option(
    "--project", metavar="NAME",
    help="The project, if there are several.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show the effects without changing anything.")
@path_option
@of_server
@click.option("--json", "as_json", is_flag=True, help="Print the commit as JSON.")
@click.pass_context
def command(
    context: click.Context, version: str, only: tuple[str, ...], project: str | None,
    folder: Path, server: str, *, propose: bool, now: bool, dry_run: bool, as_json: bool,
) -> int:  # fmt: skip
    """Roll back to VERSION, such as v3: its content becomes a new commit on top of the current one.

    The commit is made on the branch that is checked out here; push or propose it like any other.
    The server needs no clone: with --propose it opens a proposal, with --now it commits to the live
    branch itself, without a review, if the commit can go live and loosens no rule of review; the
    audit log records the user. History only grows, so going forward again is another rollback.

    The command shows the changes first. Tables follow as with any commit: a dropped column comes
    back with its values if it is only hidden, and a new column is hidden with its values; data that
    'bbops db narrow' has deleted, or that is only in a backup, does not come back.
    """
    if now and propose:
        raise BbopsError(
            "'--now' and '--propose' exclude each other", hint="leave out --now or --propose"
        )
    if (now or propose) and not dry_run:
        roll_back = _at_once if now else _propose
        with open_remote(server) as remote:
            return roll_back(remote, project or remote.only_project(), version, only, as_json)
    commit, branch = _make(
        find_local_project(folder), version, only, project or "", keeps=not dry_run
    )
    if as_json:
        say(json.dumps({"commit": commit, "branch": branch, "made": not dry_run}))
        return 0
    before = f"{commit}^"
    context.invoke(
        plan.command, revisions=f"{before}..{commit}", against="", folder=folder, rows=None,
        form="text", as_json=False,
    )  # fmt: skip
    if dry_run:
        say("\nnothing was changed: --dry-run")
    else:
        say(f"\nmade commit {commit[:12]} on branch '{printable(branch)}'; {_next(folder, before)}")
    return 0


def _next(folder: Path, before: str) -> str:
    """Return the next step: a proposal if the server requires one, else also a push."""
    from bbops.compiler.check import validate  # noqa: PLC0415 - after --help
    from bbops.source.git.store import GitTree  # noqa: PLC0415

    local = find_local_project(folder)
    base = local.store.find_commit(before) or ""
    tree = GitTree(local.store, base, branch="", under=local.under)
    project, _ = validate(tree, base=tree)
    if project and project.settings.model.review.main == "proposals":
        return "propose it: 'bbops propose --topic rollback'"
    return "push or propose it"


def _make(
    local: LocalProject, version: str, only: tuple[str, ...], project: str, *, keeps: bool
) -> tuple[str, str]:
    """Write the commit, and move the checked-out branch to it if it `keeps`."""
    from bbops.source.git.place import read_head  # noqa: PLC0415 - after --help
    from bbops.source.git.restoring import describe_restoring, restore_tree  # noqa: PLC0415
    from bbops.source.git.series import find_version  # noqa: PLC0415
    from bbops.source.git.writing import make_commit, move_branch  # noqa: PLC0415

    place = local.store.place
    branch, head = read_head(place), local.store.find_commit("HEAD")
    if not branch or head is None:
        raise GitError("no branch is checked out", hint="'git checkout main' first")
    restored = find_version(read_own_versions(local, project), version)
    tree = restore_tree(place, head, restored, under=local.under, only=only)
    message = describe_restoring(restored, only)
    commit = make_commit(place, tree, [head], message, local.store.who())
    if keeps:
        move_branch(place, branch, head, commit, f"roll back to {restored.short}")
    return commit, branch


def _propose(
    remote: Remote, project: str, version: str, only: tuple[str, ...], as_json: bool
) -> int:
    result = remote.roll_back(project, version, list(only), now=False)
    if as_json:
        say(json.dumps(_as_dict(result)))
    else:
        say(f"proposal #{result.proposal} rolls back to {result.version}: {result.page}")
    return 0


def _at_once(
    remote: Remote, project: str, version: str, only: tuple[str, ...], as_json: bool
) -> int:
    result = remote.roll_back(project, version, list(only), now=True)
    release = _wait(remote, project, result.commit)
    if as_json:
        say(json.dumps({**_as_dict(result), "release": release}))
    else:
        say(f"live: {release}, which is {result.version} again, as commit {result.commit[:12]}")
    return 0


def _as_dict(result: RollbackResult) -> dict[str, Any]:
    from msgspec import to_builtins  # noqa: PLC0415 - only for this

    values: dict[str, Any] = to_builtins(result)
    return values


def _wait(remote: Remote, project: str, commit: str) -> str:
    """Return the release once the commit is live.

    Raises:
        BbopsError: the commit has stalled; the message has the reason.
    """
    until = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < until:
        status = remote.status(project)
        is_tried = (status.attempted_revision or "").endswith(commit)
        if (status.applied_revision or "").endswith(commit) or (is_tried and status.is_settled):
            return status.release or ""
        stalled = status.find("Stalled")
        if stalled and is_tried:
            raise BbopsError(
                f"the commit is on the branch, but not live: {stalled.message}",
                hint="see 'bbops status'",
            )
        time.sleep(_POLL_SECONDS)  # the server sends no notifications
    raise ServerError(
        f"commit {commit[:12]} is on the branch, but not live after {WAIT_SECONDS:g} s",
        hint="'bbops status' shows the progress",
    )
