"""Say what changes would do, and write nothing that anybody sees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from bbops.interfaces.mcp.models import MOST_CHANGES, Change, Found
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import Call, Gives, Takes, Tool
from bbops.interfaces.mcp.work import Work


class Wanted(Takes, frozen=True):
    """The changes, all or nothing, in this order."""

    changes: Annotated[list[Change], Meta(min_length=1, max_length=MOST_CHANGES)]
    draft: Annotated[
        str,
        Meta(
            max_length=100, description="Draft to build on; a new one starts from the live branch"
        ),
    ] = ""


class Consequence(msgspec.Struct, frozen=True):
    """What clients can no longer rely on, or where somebody may more than today."""

    code: str
    subject: str
    message: str
    cure: str
    file: str


class Migration(msgspec.Struct, frozen=True):
    """A change of a table; `risk` is safe, depends, destructive or impossible."""

    change: str
    risk: str
    cure: str = ""


class Preview(Gives, frozen=True, kw_only=True):
    """What would be.

    Attributes:
        plan: what apply_changes takes; it names commits and trees, nothing else.
        files: what changes, by path.
        routes, breaking, access, jobs, migration, missing_env: against what the live branch held
            when the draft left it.
        live_data: whether the live database has said which rows are touched.
    """

    plan: str
    base: str
    draft: str
    ok: bool
    summary: str
    files: dict[str, str]
    diff: str
    is_diff_cut: bool = False
    diagnostics: list[Found] = []
    routes: list[str] = []
    breaking: list[Consequence] = []
    access: list[Consequence] = []
    jobs: list[Consequence] = []
    migration: list[Migration] = []
    missing_env: list[str] = []
    approvals: int = 0
    reasons: list[str] = []
    refused: list[str] = []
    live_data: bool = False


PREVIEW = Work("preview_changes", Wanted, Preview, leaves_something=True)
NAME = "my-change"


async def run(place: ProjectBackend, taken: Wanted) -> Preview:
    """Preview, and say how to go on."""
    done = await place.work(PREVIEW, taken)
    if not done.ok:
        return replace(done, next=[*_find_help(done)])
    arguments = {"draft": taken.draft or NAME, "plan": done.plan, "message": "Say what changes"}
    return replace(done, next=[Call("apply_changes", arguments, "commit exactly this to a draft")])


def _find_help(done: Preview) -> Iterator[Call]:
    """Yield how to mend: what was sent is read nowhere yet, but how it is written is."""
    wrong = {one.ref: one.file for one in done.diagnostics if one.ref and one.severity == "error"}
    unfit = sorted(ref for ref, file in wrong.items() if file not in done.files)[:20]
    kinds = sorted({ref.partition("/")[0] for ref, file in wrong.items() if file in done.files})
    if unfit:
        yield Call("context_read", {"refs": unfit}, "read what has changed")
    for kind in kinds[:2]:
        yield Call("context_schema", {"kind": kind}, "see the schema, then send all changes again")


TOOL = Tool(
    "preview_changes", "Preview changes",
    "Dry run: diff, mistakes, routes, database migration with risk, breaking API changes, missing"
    " environment variables. Returns the plan that apply_changes needs.",
    Wanted, Preview, run,
)  # fmt: skip
