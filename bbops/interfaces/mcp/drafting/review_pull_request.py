"""Write what differs between two trees of a project, as `git diff` does."""

from __future__ import annotations

from bbops.interfaces.mcp.drafting.bench import Bench
from bbops.interfaces.mcp.drafting.serialization import cut
from bbops.interfaces.mcp.models import MOST_RESULT
from bbops.interfaces.mcp.project.review_pull_request import Difference, Sides


def do(bench: Bench, taken: Sides) -> Difference:
    """Return the part that begins where it was asked for."""
    base = taken.base or _before(bench, taken.head)
    rest = bench.diff(base, taken.head)[taken.begin :]
    text, is_cut = cut(rest, MOST_RESULT)
    return Difference(text, taken.begin + len(text) if is_cut else 0)


def _before(bench: Bench, head: str) -> str:
    """Return where a commit left the live branch; of one that is in it, what was before it."""
    fork = bench.fork(head)
    return fork if fork != head else (bench.store.parents(head) or (head,))[0]
