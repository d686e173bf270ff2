"""project_connect: how one workspace is bound to one project; the agent does each step itself."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from bbops.interfaces.mcp.clients import CLIENTS, McpClient
from bbops.interfaces.mcp.installing.files import BEGIN, END, make_guide
from bbops.interfaces.mcp.skills import read_skills
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolError, ToolParams, ToolResult
from bbops_server.mcp.public._takes import Id
from bbops_server.mcp.public_context import PublicContext

_GUIDE, _SKILLS = "AGENTS.md", ".agents/skills"


class Bound(ToolParams, frozen=True):
    """A project, and the client that is to find its server."""

    project_id: Id
    client: Annotated[
        str, msgspec.Meta(description="such as claude-code or cursor; empty to choose one")
    ] = ""


class Entry(msgspec.Struct, frozen=True):
    """Where one client looks for servers: `patch` goes under `keys` of the file, the rest stays."""

    client: str
    path: str
    format: str
    keys: list[str]
    patch: dict[str, str]


class Step(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One step.

    Of `entries` the one of the client that you run in is done. `text` goes between the marks
    `begin` and `end` of the file. What is fetched must have the digest.
    """

    id: str
    kind: Literal["merge_file", "merge_text", "fetch_file", "ask_user"]
    title: str
    path: str = ""
    entries: list[Entry] = []
    text: str = ""
    begin: str = ""
    end: str = ""
    url: str = ""
    digest: str = ""


class Plan(ToolResult, frozen=True):
    """The steps, in their order. All of them stay inside the workspace; none holds a token."""

    project_id: str
    mcp_url: str
    server_name: str
    steps: list[Step]
    first_call: str


async def bind(at: PublicContext, wanted: Bound) -> Plan:
    """Return the plan; nothing is changed by it here."""
    found, clients = at.project(wanted.project_id), _choose(wanted.client)
    url, name = await at.mcp_url(found.name), f"bbops-{found.name}"[:40].lower().replace("_", "-")
    folder = clients[wanted.client].skills if wanted.client else _SKILLS
    steps = [
        _configure(clients, url, name), _tell(name, folder), *_fetch(at, folder),
        Step("reload", "ask_user", _sign_in(clients, wanted.client)),
    ]  # fmt: skip
    return Plan(
        project_id=found.name, mcp_url=url, server_name=name, steps=steps, first_call="context_get"
    )  # fmt: skip


def _choose(name: str) -> dict[str, McpClient]:
    """Return one client, or all; those whose file is in the home folder are left to the person."""
    known = CLIENTS
    if name and name not in known:
        again = NextCall("platform_help", why="see docs/agents.md for other clients")
        raise ToolError(
            f"unknown client '{name[:64]}'", hint=f"one of {', '.join(known)}", next=(again,)
        )
    return {name: known[name]} if name else dict(known)


def _configure(clients: dict[str, McpClient], url: str, name: str) -> Step:
    entries = [
        Entry(at, one.file, one.form, [*one.keys, name], one.entry(url))
        for at, one in clients.items()
        if one.is_of_workspace
    ]
    if entries:
        return Step("configure", "merge_file", "Configure the server in the client", "", entries)
    (one,) = clients.values()
    shown = f"{'.'.join([*one.keys, name])} = {one.entry(url)}"
    return Step("configure", "ask_user", f"Add to {one.file}, the person's own file: {shown}")


def _tell(name: str, folder: str) -> Step:
    title = (
        "Tell agents how to change this project: between the markers, or at the end of the file if"
        " there are none yet"
    )
    text = make_guide(name, folder)
    return Step("guide", "merge_text", title, _GUIDE, text=text, begin=BEGIN, end=END)


def _fetch(at: PublicContext, folder: str) -> list[Step]:
    return [
        Step(
            f"skill-{one.name}", "fetch_file", f"Give agents the skill {one.name}",
            f"{folder}/{one.path}", url=at.link(f"/skills/{one.path}"), digest=one.digest,
        )
        for one in read_skills().values()
    ]  # fmt: skip


def _sign_in(clients: dict[str, McpClient], name: str) -> str:
    how = clients[name].sign_in if name else "reload the servers in the client, and sign in"
    return f"Say which files were changed, and: {how}"


TOOL = McpTool(
    "project_connect",
    "Connect a workspace",
    "Call once with the chosen project: the steps that bind this workspace to it, for you to do.",
    Bound,
    Plan,
    bind,
)
