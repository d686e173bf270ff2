"""Read whole resources, with the digests that protect a change of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from bbops.interfaces.mcp.models import MAX_RESULT, Draft
from bbops.interfaces.mcp.models import Ref as RefText
from bbops.interfaces.mcp.operation import RepositoryOperation
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.refs import Ref, near, parse_ref
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolError, ToolParams, ToolResult

if TYPE_CHECKING:
    from bbops.interfaces.mcp.drafting.files import ResourceFiles
    from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository


class ContextReadParams(ToolParams, frozen=True):
    """The resources to read."""

    refs: Annotated[list[RefText], Meta(min_length=1, max_length=20)]
    draft: Draft = ""


class ResourceBody(msgspec.Struct, frozen=True):
    """A resource; `problem` is the reason if there is no body."""

    ref: str
    digest: str
    file: str
    body: dict[str, Any] | None = None
    problem: str = ""


class ContextReadResult(ToolResult, frozen=True, kw_only=True):
    """The resources; `left` did not fit, `missing` do not exist, each with a hint."""

    commit: str
    resources: list[ResourceBody]
    left: list[str] = []
    missing: dict[str, str] = {}


async def run(backend: ProjectBackend, params: ContextReadParams) -> ContextReadResult:
    """Read the resources, and suggest the next calls."""
    result = await backend.run_operation(READ, params)
    draft = {"draft": params.draft} if params.draft else {}
    calls = []
    if result.left:
        calls.append(NextCall("context_read", {"refs": result.left, **draft}, "read the rest"))
    if result.missing:
        calls.append(NextCall("context_list", draft, "list the resources"))
    return replace(result, next=calls)


def do(repository: ProjectRepository, params: ContextReadParams) -> ContextReadResult:
    """Return the resources, and the refs that do not exist or did not fit."""
    from bbops.interfaces.mcp.drafting.files import ResourceFiles  # noqa: PLC0415

    commit = repository.find(params.draft)
    files = ResourceFiles(repository.tree(commit))
    missing, refs = dict[str, str](), list[Ref]()
    for text in dict.fromkeys(params.refs):
        try:
            ref = parse_ref(text)
        except ToolError as error:
            missing[text] = error.hint or error.message
            continue
        if ref in files.entries:
            refs.append(ref)
        else:
            missing[text] = near(text, files.entries)
    bodies, left = _fit(files, list(dict.fromkeys(refs)))
    return ContextReadResult(commit=commit, resources=bodies, left=left, missing=missing)


def _fit(files: ResourceFiles, refs: list[Ref]) -> tuple[list[ResourceBody], list[str]]:
    texts, bodies, size = files.read(refs), list[ResourceBody](), 0
    for index, ref in enumerate(refs):
        body = _body(files, ref, texts.get(ref))
        size += len(msgspec.json.encode(body.body))
        if size > MAX_RESULT and bodies:
            return bodies, [str(remaining) for remaining in refs[index:]]
        bodies.append(body)
    return bodies, []


def _body(files: ResourceFiles, ref: Ref, data: bytes | None) -> ResourceBody:
    from bbops.interfaces.mcp.drafting.files import read_body  # noqa: PLC0415

    digest = files.entries[ref].blob
    body, problem = read_body(ref, data) if data is not None else (None, "it is too large")
    if len(msgspec.json.encode(body)) > MAX_RESULT:
        size = files.entries[ref].size_bytes
        body, problem = None, f"it has {size:,} bytes, too many to show: clone the repository"
    return ResourceBody(str(ref), digest, ref.file, body, problem)


READ = RepositoryOperation("context_read", ContextReadParams, ContextReadResult, do)

TOOL = McpTool(
    "context_read", "Read resources",
    "Reads whole resources, with the digest to pass as base when changing them.",
    ContextReadParams, ContextReadResult, run,
)  # fmt: skip
