"""Write what differs between two trees of a project, as `git diff` does."""

from __future__ import annotations

from bbops.errors import GitError
from bbops.git.command import run
from bbops.git.environment import Limits
from bbops.mcp.project.review_pull_request import Difference, Sides
from bbops.mcp.words import MOST_RESULT
from bbops.mcp.workshop.bench import Bench
from bbops.mcp.workshop.telling import cut

MOST_DIFF = 4 << 20


def do(bench: Bench, taken: Sides) -> Difference:
    """Return the part that begins where it was asked for."""
    base = taken.base or _before(bench, taken.head)
    rest = diff(bench, base, taken.head)[taken.begin :]
    text, is_cut = cut(rest, MOST_RESULT)
    return Difference(text, taken.begin + len(text) if is_cut else 0)


def _before(bench: Bench, head: str) -> str:
    """Return where a commit left the live branch; of one that is in it, what was before it."""
    fork = bench.fork(head)
    return fork if fork != head else (bench.store.parents(head) or (head,))[0]


def diff(bench: Bench, base: str, head: str) -> str:
    """Return the difference of two commits or trees; only of the project's folder.

    Raises:
        GitError: they cannot be read, or differ by more than anybody reads.
    """
    paths = ("--", bench.folder) if bench.folder else ()
    options = ("--no-color", "--no-ext-diff", "--no-textconv", "--find-renames", "--unified=2")
    arguments = ("diff-tree", "-r", "-p", *options, base, head, *paths)
    answer = run(bench.store.place, arguments, limits=Limits(output_bytes=MOST_DIFF))
    if answer.status or (answer.ended and len(answer.output) < MOST_DIFF):
        raise GitError("the two cannot be compared")
    return answer.output.decode(errors="replace")
