"""Say where a project stands, and what whoever asks may do in it."""

from __future__ import annotations

import msgspec

from bbops.interfaces.mcp.models import Proposed
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import Call, Gives, Takes, Tool
from bbops.interfaces.mcp.work import Work


class Nothing(Takes, frozen=True):
    """It takes nothing."""


class Branch(msgspec.Struct, frozen=True):
    """A draft; `ahead` are its commits that the live branch has not."""

    name: str
    head: str
    ahead: int


class Rules(msgspec.Struct, frozen=True, rename="camel"):
    """What a change takes: the `review` of project.yaml."""

    main: str
    approvals: int
    approvals_where_something_is_lost: int
    most_removed_percent: int | None


class Overview(Gives, frozen=True, kw_only=True):
    """What the repository says."""

    project: str = ""
    description: str = ""
    live_branch: str
    head: str
    counts: dict[str, int] = {}
    errors: int = 0
    drafts: list[Branch] = []
    rules: Rules | None = None


class Context(Overview, frozen=True, kw_only=True):
    """And what is known beside it."""

    url: str = ""
    published: str = ""
    version: str = ""
    message: str = ""
    may: list[str] = []
    pulls: list[Proposed] = []


OVERVIEW = Work("context_get", Nothing, Overview)


async def run(place: ProjectBackend, taken: Nothing) -> Context:
    """Return the repository's part and the server's as one."""
    seen, stands = await place.work(OVERVIEW, taken), await place.stand()
    known = {name: getattr(seen, name) for name in seen.__struct_fields__ if name != "next"}
    return Context(
        **known | {"project": stands.name or seen.project},
        url=stands.url, published=stands.published, version=stands.version,
        message=stands.message, may=list(stands.may), pulls=list(stands.proposals),
        next=[
            Call("context_list", {}, "see the resources"),
            Call("context_schema", {}, "see how one is written"),
        ],
    )  # fmt: skip


TOOL = Tool(
    "context_get", "Project overview",
    "Call first. Live release, drafts, open pull requests, counts, merge rules and what you are"
    " allowed to do.",
    Nothing, Context, run,
)  # fmt: skip
