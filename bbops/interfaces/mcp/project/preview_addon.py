"""Say what an addon made from an OpenAPI document would be, and write nothing that anybody sees."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from bbops.interfaces.mcp.project.preview_changes import NAME, Preview
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import Call, Takes, Tool
from bbops.interfaces.mcp.work import Work

MOST_DOCUMENT: Final = 1_000_000
MOST_STEPS: Final = 30


class Importing(Takes, frozen=True):
    """The document, and the operations that become steps."""

    name: Annotated[str, Meta(max_length=63)]
    document: Annotated[str, Meta(max_length=MOST_DOCUMENT)]
    steps: Annotated[
        dict[str, str],
        Meta(max_length=MOST_STEPS, description="createRefund: POST /v1/refunds"),
    ] = {}
    server: Annotated[str, Meta(max_length=500)] = ""
    draft: Annotated[str, Meta(max_length=100)] = ""


class StepChange(msgspec.Struct, frozen=True):
    """What another version of a step does to functions: `breaks`, `widens`, or needs a `look`."""

    effect: str
    text: str


class ImportedStep(msgspec.Struct, frozen=True):
    """What becomes of a step: `made`, `changed`, `same`, or `kept` where somebody edited it."""

    step: str
    operation: str
    what: str
    changes: list[StepChange] = []
    functions: list[str] = []


class AddonPreview(Preview, frozen=True, kw_only=True):
    """What would be, and what becomes of each step."""

    steps: list[ImportedStep] = []
    notes: list[str] = []


IMPORT = Work("preview_addon", Importing, AddonPreview, leaves_something=True)


async def run(place: ProjectBackend, taken: Importing) -> AddonPreview:
    """Preview, and say how to go on."""
    done = await place.work(IMPORT, taken)
    if not done.ok:
        return done
    draft = taken.draft or NAME
    arguments = {"draft": draft, "plan": done.plan, "message": f"Add the addon {taken.name}"}
    return replace(done, next=[Call("apply_changes", arguments, "commit exactly this to a draft")])


TOOL = Tool(
    "preview_addon", "Preview an addon",
    "Dry run, as preview_changes: makes operations of an OpenAPI 3 document steps of an addon.",
    Importing, AddonPreview, run,
)  # fmt: skip
