"""Make an addon from a document: a tree that nothing names yet, and all that follows from it."""

from __future__ import annotations

from pathlib import Path

from bbops.base.errors import BbopsError
from bbops.edit.authoring.changing import Change
from bbops.edit.authoring.folder import Folder
from bbops.edit.importing.addon import Imported, import_addon
from bbops.edit.importing.sources import read_openapi
from bbops.interfaces.mcp.drafting.bench import Bench
from bbops.interfaces.mcp.drafting.plans import Plan
from bbops.interfaces.mcp.drafting.preview_changes import preview, write_tree
from bbops.interfaces.mcp.project.preview_addon import (
    AddonPreview,
    ImportedStep,
    Importing,
    StepChange,
)
from bbops.interfaces.mcp.tool import Refused
from bbops.source.git.writing import NOTHING


def do(bench: Bench, taken: Importing) -> AddonPreview:
    """Return it; what was written is a tree that only the plan names.

    Raises:
        Refused: the document cannot be read, or an operation is not in it.
    """
    is_own = bool(taken.draft) and taken.draft != bench.live
    head = bench.resolve(taken.draft) if is_own else None
    if is_own and head is None:
        bench.require_free(bench.require_name(taken.draft))
    base = head or bench.head
    change = Change(Folder(Path(), bench.tree(base)))
    try:
        source = read_openapi(taken.document.encode(), "document", taken.server)
        found = import_addon(change, taken.name, source, taken.steps)
    except BbopsError as error:
        raise Refused(error.message, hint=error.hint) from None
    if not change.files:
        raise Refused("nothing would change", hint="the draft already has this version")
    plan = Plan(base, write_tree(bench, base, change.files), head or NOTHING)
    shown = preview(bench, plan, taken.draft if is_own else "", change.files)
    fields = {name: getattr(shown, name) for name in shown.__struct_fields__}
    return AddonPreview(**fields, steps=_steps(found), notes=found.notes)


def _steps(found: Imported) -> list[ImportedStep]:
    return [
        ImportedStep(
            f"{found.addon}.{one.name}", one.operation, one.what,
            [StepChange(it.effect, it.text) for it in one.changes], list(one.functions),
        ) for one in found.steps
    ]  # fmt: skip
