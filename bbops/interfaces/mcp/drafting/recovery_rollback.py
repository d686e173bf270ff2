"""Make the commit that goes back to what was, and say what no way back brings back."""

from __future__ import annotations

import re
from typing import Final

from bbops.interfaces.mcp.drafting.bench import Bench
from bbops.interfaces.mcp.drafting.preview_changes import find_consequences, migrations
from bbops.interfaces.mcp.drafting.recovery_history import SNAPSHOT, snapshots
from bbops.interfaces.mcp.drafting.serialization import clean_message
from bbops.interfaces.mcp.project.recovery_rollback import Back, Restored
from bbops.interfaces.mcp.refs import parse_ref
from bbops.interfaces.mcp.tool import Call, Refused
from bbops.review.plan.plan import Plan
from bbops.review.plan.render import phrases
from bbops.source.git.restoring import describe_restoring, restore_tree
from bbops.source.git.series import Version, find_version
from bbops.source.git.writing import make_commit

_COMMIT: Final = re.compile(r"[0-9a-f]{7,64}")
_VERSION: Final = re.compile(r"(?:.*/)?v?[0-9]{1,9}")


def do(bench: Bench, taken: Back) -> Restored:
    """Return a commit on top of the live branch that no branch holds.

    Raises:
        Refused: there is nothing of this name to go back to.
        GitError: nothing would change.
    """
    bench.require_here()
    version, only = _find(bench, taken.to), [parse_ref(ref).file for ref in taken.refs]
    head = bench.head
    tree = restore_tree(bench.store.place, head, version, under=bench.folder, only=only)
    message = f"{describe_restoring(version, only)}\n\n{clean_message(taken.reason)}"
    commit = make_commit(bench.store.place, tree, [head], message, bench.who)
    project, _ = bench.check(bench.tree(commit))
    follows = find_consequences(bench, commit, project) if project else None
    return Restored(
        commit, version.short,
        phrases.summary(follows) if follows else "the earlier version has errors now",
        tuple(migrations(follows.tables)) if follows else (), tuple(_lost(follows)),
    )  # fmt: skip


def _find(bench: Bench, text: str) -> Version:
    """Return what a text names: a version, a snapshot, or a commit that was live.

    Raises:
        Refused: nothing, or what was never live; GitError where it looks like a version.
    """
    name = text.removeprefix(bench.path("")).removeprefix(SNAPSHOT)
    if _VERSION.fullmatch(text) and SNAPSHOT not in text:
        return find_version(bench.versions, text)
    tag = bench.path(f"{SNAPSHOT}{name}")
    kept = next((one for one in snapshots(bench) if one.tag == tag), None)
    if kept is not None and bench.store.is_ancestor(kept.commit, bench.head):
        return Version(kept.tag, 0, kept.commit, kept.at, kept.summary, {})
    commit = bench.store.find_commit(text) if _COMMIT.fullmatch(text) else None
    if commit is None or not _was_live(bench, commit):
        raise Refused(
            f"'{text[:100]}' is not a version, snapshot or live commit of this project",
            next=(Call("recovery_history", {}, "see the versions you can roll back to"),),
        )
    return Version(commit[:12], 0, commit, "", bench.store.subject(commit), {})


def _was_live(bench: Bench, commit: str) -> bool:
    """Return whether a commit was live; of the live branch, where a clone knows of no version."""
    known = {one.commit for one in bench.versions}
    if known:
        return commit in {*known, bench.published}
    return bench.store.is_ancestor(commit, bench.head)


def _lost(follows: Plan | None) -> list[str]:
    """Return whose values lose their place; what is only hidden comes back with its column."""
    tables = follows.tables if follows else ()
    return [f"{one.kind} '{one.name}'" for one in tables if one.risk in {"destructive", "depends"}]
