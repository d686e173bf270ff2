"""project_create: what a new project would be; nothing is made."""

from __future__ import annotations

import asyncio
import shlex
from typing import Annotated

import msgspec

from bbops.interfaces.cli.init import slug, template_files
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolParams, ToolResult
from bbops_server.mcp.public_context import PublicContext


class ProjectCreateParams(ToolParams, frozen=True):
    """The name of the new project."""

    name: Annotated[
        str, msgspec.Meta(description="such as 'web-shop'", min_length=1, max_length=63)
    ]


class File(msgspec.Struct, frozen=True, rename="camel"):
    """A file that would be made."""

    path: str
    size_bytes: int


class Preview(ToolResult, frozen=True):
    """A dry run: `created` is always false. The commands are for the person, or for you to run."""

    created: bool
    name: str
    taken: bool
    files: list[File]
    commands: list[str]
    afterwards: str


async def preview(at: PublicContext, wanted: ProjectCreateParams) -> Preview:
    """Show what would be made."""
    name = slug(wanted.name)
    files = await asyncio.to_thread(template_files, name)
    is_taken = any(one.name == name for one in at.projects())
    return Preview(
        created=False, name=name, taken=is_taken,
        files=[File(path, len(text)) for path, text in sorted(files.items())],
        commands=[f"bbops init {shlex.quote(name)}", f"cd {shlex.quote(name)}", "bbops dev"],
        afterwards="an owner adds the repository to the server's file: "
        + at.link("/docs/serving.md#several-projects-on-one-server"),
        next=[
            NextCall("project_list"),
            NextCall("docs_search", {"query": "server.yaml several projects"}),
        ],
    )  # fmt: skip


TOOL = McpTool(
    "project_create",
    "Preview a new project",
    "Dry run: the files and commands that a new project needs. Creates nothing.",
    ProjectCreateParams,
    Preview,
    preview,
)
