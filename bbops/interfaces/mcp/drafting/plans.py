"""The plan of a preview: the commit on which it builds, and the resulting tree.

A plan names objects in git, so it needs no other storage. The tree is checked again when a plan is
applied: a forged plan can only do what a preview could have done.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from bbops.interfaces.mcp.drafting.file_changes import MAX_BYTES_CHANGED, MAX_FILES
from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository
from bbops.interfaces.mcp.refs import ref_of
from bbops.interfaces.mcp.tool import ToolError
from bbops.source.git.command import failure, run
from bbops.source.git.writing import NOTHING

_FORM: Final = re.compile(r"p1\.([0-9a-f]{40,64})\.([0-9a-f]{40,64})\.([0-9a-f]{40,64})")
_FILE: Final = "100644"


class ChangePlan(NamedTuple):
    """`base` + changes = `tree`; `head` is the draft's commit, NOTHING for a new draft."""

    base: str
    tree: str
    head: str = NOTHING

    def __str__(self) -> str:
        return f"p1.{self.base}.{self.tree}.{self.head}"


def read_plan(text: str) -> ChangePlan:
    """Return the plan in a text. Raises: Refused: the text is not a plan."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise ToolError("this is not a plan", hint="pass the 'plan' of preview_changes unchanged")
    return ChangePlan(*match.groups())


def require_sound(repository: ProjectRepository, plan: ChangePlan) -> list[str]:
    """Return the files that a plan changes; all are resources of the project.

    Raises:
        Refused: the plan changes other files, or its objects are not in the repository any more.
    """
    lines = [f"{plan.base}^{{commit}}", f"{plan.tree}^{{tree}}"]
    output = run(repository.store.place, ("cat-file", "--batch-check"), lines).output.decode()
    if [line.split()[1:2] for line in output.splitlines()] != [["commit"], ["tree"]]:
        raise ToolError("the repository does not have this plan", hint="preview the changes again")
    arguments = ("diff-tree", "-r", "-z", "--no-renames", "--raw", "--full-index", plan.base,
                 plan.tree)  # fmt: skip
    answer = run(repository.store.place, arguments)
    if answer.status or answer.ended:
        raise failure(answer, arguments)
    fields = answer.output.decode(errors="surrogateescape").split("\0")
    rows = list(zip(fields[::2], fields[1::2], strict=False))
    files = [_require_file(repository, meta, path) for meta, path in rows]
    if len(files) > MAX_FILES:
        raise ToolError("this plan changes too many files", hint="split it into several plans")
    _require_small(repository, [meta.split()[3] for meta, _ in rows])
    return files


def _require_file(repository: ProjectRepository, meta: str, path: str) -> str:
    """Return the path of a resource from the project's root."""
    _, mode, _, _, verb = meta.split()
    prefix = repository.path("")
    file = path.removeprefix(prefix)
    is_file = mode == _FILE or verb == "D"
    if not path.startswith(prefix) or ref_of(file) is None or not is_file:
        shown = path.encode(errors="replace").decode()[:100]
        raise ToolError(
            f"this plan changes '{shown}', which is not a resource of the project",
            hint="preview the changes again",
        )
    return file


def _require_small(repository: ProjectRepository, blobs: list[str]) -> None:
    objects = [blob for blob in blobs if blob.strip("0")]
    output = run(repository.store.place, ("cat-file", "--batch-check"), objects).output.decode()
    sizes = [int(line.split()[2]) for line in output.splitlines() if len(line.split()) == 3]
    if len(sizes) != len(objects) or sum(sizes) > MAX_BYTES_CHANGED:
        raise ToolError("this plan is too large, or incomplete", hint="preview the changes again")
