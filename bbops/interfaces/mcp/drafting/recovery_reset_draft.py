"""Let a draft be what is live, or what it was before; nothing that it held is lost."""

from __future__ import annotations

from bbops.interfaces.mcp.drafting.bench import Bench
from bbops.interfaces.mcp.project.recovery_reset_draft import Reset, Resetting
from bbops.interfaces.mcp.refs import parse_ref
from bbops.interfaces.mcp.tool import Refused
from bbops.source.git.restoring import restore_tree
from bbops.source.git.series import Version
from bbops.source.git.writing import NOTHING, delete_branch, keep_ref, make_commit, move_branch

KEPT = "refs/bbops/drafts"
"""Where heads stay that drafts had before they were reset; no git client sees them."""


def do(bench: Bench, taken: Resetting) -> Reset:
    """Move or delete the draft, and keep what it held.

    Raises:
        Refused: there is no such draft, or it never held what it is to hold.
    """
    draft, place = bench.require_own(taken.draft), bench.store.place
    head = bench.resolve(draft)
    if taken.to:
        wanted = _require_kept(bench, draft, taken.to)
    elif head is None:
        if taken.delete:
            return Reset(draft=draft, head="", previous_head="")
        bench.find(draft)
        wanted = ""
    elif taken.delete:
        wanted = ""
    else:
        wanted = _restored(bench, head, taken) if taken.refs else bench.head
    if head == wanted:
        return Reset(draft=draft, head=head, previous_head=head)
    if head is not None:
        keep_ref(place, f"{KEPT}/{draft}/-/{head}", head)
    if wanted:
        move_branch(place, draft, head or NOTHING, wanted, "reset a draft")
    elif head is not None:
        delete_branch(place, draft, head)
    return Reset(draft=draft, head=wanted, previous_head=head or "")


def _restored(bench: Bench, head: str, taken: Resetting) -> str:
    files = [parse_ref(ref).file for ref in taken.refs]
    live = Version(bench.live, 0, bench.head, "", "", {})
    tree = restore_tree(bench.store.place, head, live, under=bench.folder, only=files)
    message = f"Reset {', '.join(taken.refs)} to '{bench.live}'"
    return make_commit(bench.store.place, tree, [head], message, bench.who)


def _require_kept(bench: Bench, draft: str, commit: str) -> str:
    ref = f"{KEPT}/{draft}/-/{commit}"
    if bench.store.find_commit(ref) != commit:
        raise Refused(f"draft '{draft}' never pointed to {commit[:12]}", hint="pass a previousHead")
    return commit
