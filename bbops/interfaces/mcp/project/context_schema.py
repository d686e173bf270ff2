"""Say how a resource, a step or an addon is written."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from bbops.interfaces.mcp.models import Kind
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import Gives, Takes, Tool
from bbops.interfaces.mcp.work import Work


class Asking(Takes, frozen=True):
    """One of them; none lists what there is."""

    kind: Kind | UnsetType = UNSET
    step: Annotated[str, Meta(max_length=80, description="such as find or payments.refund")] = ""
    addon: Annotated[str, Meta(max_length=80)] = ""


class Said(Gives, frozen=True, kw_only=True):
    """JSON Schema 2020-12, an example that holds, and what there is to choose from."""

    schema: dict[str, Any] = {}
    example: Any = None
    choices: dict[str, str] = {}
    note: str = ""


SCHEMA = Work("context_schema", Asking, Said)


async def run(place: ProjectBackend, taken: Asking) -> Said:
    """Look it up."""
    return await place.work(SCHEMA, taken)


TOOL = Tool(
    "context_schema", "Resource schema",
    "JSON Schema and an example of a resource kind, a function step or an addon; one at a time.",
    Asking, Said, run,
)  # fmt: skip
