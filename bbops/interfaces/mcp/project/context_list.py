"""List the resources of a project, a page at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from bbops.interfaces.mcp.models import DOC, FOLDERS, Cursor, Draft, Kind, Limit, ResourceSummary
from bbops.interfaces.mcp.operation import RepositoryOperation
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.refs import Ref, parse_ref
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolParams, ToolResult

if TYPE_CHECKING:
    from bbops.interfaces.mcp.drafting.files import ResourceFiles
    from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository

MAX_SUMMARY: Final = 160


class ContextListParams(ToolParams, frozen=True):
    """Filters for the list, and the page."""

    kind: Kind | UnsetType = UNSET
    query: Annotated[str, Meta(max_length=200, description="Words in name or summary")] = ""
    draft: Draft = ""
    cursor: Cursor = ""
    limit: Limit = 50


class ContextListResult(ToolResult, frozen=True, kw_only=True):
    """A page of resources; `total` counts all pages."""

    commit: str
    total: int
    resources: list[ResourceSummary]
    next_cursor: str = ""


async def run(backend: ProjectBackend, params: ContextListParams) -> ContextListResult:
    """List the resources, and suggest a call that reads them."""
    result = await backend.run_operation(LIST, params)
    refs = [resource.ref for resource in result.resources[:20]]
    draft = {"draft": params.draft} if params.draft else {}
    calls = [NextCall("context_read", {"refs": refs, **draft}, "read them")] if refs else []
    return replace(result, next=calls)


def do(repository: ProjectRepository, params: ContextListParams) -> ContextListResult:
    """Return a page, in the order of the refs."""
    from bbops.interfaces.mcp.drafting.files import ResourceFiles  # noqa: PLC0415

    commit = repository.find(params.draft)
    files = ResourceFiles(repository.tree(commit))
    refs = sorted(ref for ref in files.entries if _is_of(ref, params.kind))
    words = params.query.lower().split()
    lines = _summaries(files, refs) if words else {}
    matches = [ref for ref in refs if _has(ref, lines.get(ref, ""), words)]
    start = parse_ref(params.cursor) if params.cursor else None
    page = [ref for ref in matches if start is None or ref > start][: params.limit]
    lines |= _summaries(files, [ref for ref in page if ref not in lines])
    is_last = not page or page[-1] == matches[-1]
    return ContextListResult(
        commit=commit, total=len(matches), next_cursor="" if is_last else str(page[-1]),
        resources=[
            ResourceSummary(str(ref), files.entries[ref].blob, lines[ref], ref.file) for ref in page
        ],
    )  # fmt: skip


def _is_of(ref: Ref, kind: Kind | UnsetType) -> bool:
    return isinstance(kind, UnsetType) or ref.kind == kind


def _has(ref: Ref, line: str, words: list[str]) -> bool:
    text = f"{ref} {ref.file} {line}".lower()
    return all(word in text for word in words)


def _summaries(files: ResourceFiles, refs: list[Ref]) -> dict[Ref, str]:
    read = files.read(refs)
    return {ref: summarize(ref, read.get(ref, b"")) for ref in refs}


def summarize(ref: Ref, data: bytes) -> str:
    """Return a one-line summary of a resource, or the reason why it cannot be read."""
    from bbops.interfaces.mcp.drafting.files import read_body  # noqa: PLC0415
    from bbops.language.loading.load import model_of  # noqa: PLC0415

    body, problem = read_body(ref, data)
    if body is None:
        return f"cannot be read: {problem}"[:MAX_SUMMARY]
    description = str(body.get("description") or "")
    model = None if ref.kind == DOC else model_of(FOLDERS[ref.kind], ref.name, body)
    summary = _title(body) if model is None else model.summarize(body)
    line = " ".join(" · ".join(filter(None, (summary, description))).split())
    return line if len(line) <= MAX_SUMMARY else f"{line[: MAX_SUMMARY - 1]}…"


def _title(body: Mapping[str, Any]) -> str:
    from bbops.interfaces.mcp.drafting.files import TEXT  # noqa: PLC0415

    return str(body.get(TEXT, "")).lstrip("# ").partition("\n")[0]


LIST = RepositoryOperation("context_list", ContextListParams, ContextListResult, do)

TOOL = McpTool(
    "context_list", "List resources",
    "Lists resources with digest and one-line summary; context_read has the bodies.",
    ContextListParams, ContextListResult, run,
)  # fmt: skip
