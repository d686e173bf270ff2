"""project_connect: how one workspace is bound to one project; the agent does each step itself."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from bbops.mcp.installing.guide import BEGIN, END
from bbops.mcp.skills import read_skills
from bbops.mcp.tool import Gives, Takes, Tool
from bbops_server.mcp.lobby import Lobby
from bbops_server.mcp.public._takes import Id

_FOLDER = ".agents/skills"


class Bound(Takes, frozen=True):
    """A project, and what its server is to be called in the client."""

    project_id: Id
    name: Annotated[
        str, msgspec.Meta(description="of the server in the client", pattern="^[a-z0-9-]{0,40}$")
    ] = ""


class Step(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One step. A file is merged, never overwritten: what a person wrote there stays.

    `content` is what stands between the two markers, or the whole file where there are none.
    """

    id: str
    kind: Literal["addServer", "mergeFile", "fetchFile", "askUser"]
    say: str
    path: str = ""
    url: str = ""
    digest: str = ""
    content: str = ""
    begin: str = ""
    end: str = ""


class Plan(Gives, frozen=True):
    """The steps, in their order. All of them stay inside the workspace; none holds a token."""

    project_id: str
    mcp_url: str
    server_name: str
    steps: list[Step]
    first_call: str


async def bind(at: Lobby, wanted: Bound) -> Plan:
    """Return the plan; nothing is changed by it here."""
    found = at.project(wanted.project_id)
    url, name = await at.mcp_url(found.name), wanted.name or f"bbops-{found.name}"[:40]
    steps = [_add_server(name, url), _tell_agents(found.name, url), *_fetch_skills(at), _ask()]
    return Plan(
        project_id=found.name, mcp_url=url, server_name=name, steps=steps, first_call="context_get"
    )  # fmt: skip


def _add_server(name: str, url: str) -> Step:
    said = (
        f"add the MCP server '{name}' with this address to this workspace (not to the whole"
        " computer): transport streamable HTTP, without a token; the client signs in at the first"
        " call"
    )
    return Step("server", "addServer", said, url=url)


def _tell_agents(project: str, url: str) -> Step:
    content = (
        f"This workspace belongs to the bbops project `{project}`; its MCP server is {url}.\n"
        f"Read the skills in `{_FOLDER}` first. Work on drafts; publish only when you are asked to."
    )
    said = "put this between the two markers in AGENTS.md, at its end where they are not there yet"
    return Step(
        "agents", "mergeFile", said, path="AGENTS.md", content=content, begin=BEGIN, end=END
    )  # fmt: skip


def _fetch_skills(at: Lobby) -> list[Step]:
    return [
        Step(
            f"skill-{one.name}", "fetchFile", "save this file; check its digest",
            path=f"{_FOLDER}/{one.path}", url=at.link(f"/skills/{one.path}"), digest=one.digest,
        )
        for one in read_skills().values()
    ]  # fmt: skip


def _ask() -> Step:
    said = "tell the person which files were changed, and let them reload the client's servers"
    return Step("reload", "askUser", said)


TOOL = Tool(
    "project_connect",
    "Connect a workspace",
    "Call once with the chosen project: the steps that bind this workspace to it, for you to do.",
    Bound,
    Plan,
    bind,
)
