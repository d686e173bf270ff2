"""The plan of a preview: which commit it builds on, and which tree it makes of it.

It names what git keeps, so nothing else remembers it. Whoever applies it looks at the tree again:
a plan that somebody made up can only do what a preview could have done.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from bbops.interfaces.mcp.drafting.bench import Bench
from bbops.interfaces.mcp.drafting.changing import MOST_BYTES, MOST_FILES
from bbops.interfaces.mcp.refs import ref_of
from bbops.interfaces.mcp.tool import Refused
from bbops.source.git.command import failure, run
from bbops.source.git.writing import NOTHING

_FORM: Final = re.compile(r"p1\.([0-9a-f]{40,64})\.([0-9a-f]{40,64})\.([0-9a-f]{40,64})")
_FILE: Final = "100644"


class Plan(NamedTuple):
    """`base` + changes = `tree`; `head` is what the draft held, NOTHING for a new one."""

    base: str
    tree: str
    head: str = NOTHING

    def __str__(self) -> str:
        return f"p1.{self.base}.{self.tree}.{self.head}"


def read_plan(text: str) -> Plan:
    """Return the plan that a text names. Raises: Refused: it names none."""
    found = _FORM.fullmatch(text)
    if found is None:
        raise Refused("this is not a plan", hint="pass the 'plan' of preview_changes unchanged")
    return Plan(*found.groups())


def require_sound(bench: Bench, plan: Plan) -> list[str]:
    """Return the files that a plan changes: resources of the project, and nothing else.

    Raises:
        Refused: it does something else, or what it names is not in the repository any more.
    """
    lines = [f"{plan.base}^{{commit}}", f"{plan.tree}^{{tree}}"]
    told = run(bench.store.place, ("cat-file", "--batch-check"), lines).output.decode()
    if [line.split()[1:2] for line in told.splitlines()] != [["commit"], ["tree"]]:
        raise Refused("the repository does not have this plan", hint="preview the changes again")
    arguments = ("diff-tree", "-r", "-z", "--no-renames", "--raw", "--full-index", plan.base,
                 plan.tree)  # fmt: skip
    answer = run(bench.store.place, arguments)
    if answer.status or answer.ended:
        raise failure(answer, arguments)
    fields = answer.output.decode(errors="surrogateescape").split("\0")
    rows = list(zip(fields[::2], fields[1::2], strict=False))
    files = [_require_file(bench, meta, path) for meta, path in rows]
    if len(files) > MOST_FILES:
        raise Refused("this plan changes too many files", hint="split it into several plans")
    _require_small(bench, [meta.split()[3] for meta, _ in rows])
    return files


def _require_file(bench: Bench, meta: str, path: str) -> str:
    """Return the path of a resource from the project's root."""
    _, mode, _, _, verb = meta.split()
    prefix = bench.path("")
    file = path.removeprefix(prefix)
    is_file = mode == _FILE or verb == "D"
    if not path.startswith(prefix) or ref_of(file) is None or not is_file:
        shown = path.encode(errors="replace").decode()[:100]
        raise Refused(
            f"this plan changes '{shown}', which is not a resource of the project",
            hint="preview the changes again",
        )
    return file


def _require_small(bench: Bench, blobs: list[str]) -> None:
    wanted = [one for one in blobs if one.strip("0")]
    told = run(bench.store.place, ("cat-file", "--batch-check"), wanted).output.decode()
    sizes = [int(line.split()[2]) for line in told.splitlines() if len(line.split()) == 3]
    if len(sizes) != len(wanted) or sum(sizes) > MOST_BYTES:
        raise Refused("this plan is too large, or incomplete", hint="preview the changes again")
