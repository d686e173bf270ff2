"""Read the API contract of a project."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from bbops.base.diagnostics import suggest
from bbops.interfaces.mcp.models import MAX_RESULT, Cursor, Draft
from bbops.interfaces.mcp.operation import RepositoryOperation
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolError, ToolParams, ToolResult

if TYPE_CHECKING:
    from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository
    from bbops.review.contract.contract import Contract as Whole
    from bbops.review.contract.contract import Operation

MAX_ROUTES: Final = 200
_SHAPE: Final = re.compile(r"#/shapes/([^\"/]+)")


class ReviewContractParams(ToolParams, frozen=True):
    """The format, the draft and the route, and the page."""

    format: Literal["openapi", "markdown", "json", "typescript", "python"] = "markdown"
    draft: Draft = ""
    path: Annotated[str, Meta(max_length=500, description="only this route: /notes/{id}")] = ""
    cursor: Cursor = ""


class ReviewContractResult(ToolResult, frozen=True, kw_only=True):
    """A part of the contract; all parts of a contract have the same `digest`."""

    commit: str
    digest: str
    content_type: str
    routes: list[str]
    text: str
    next_cursor: str = ""


async def run(backend: ProjectBackend, params: ReviewContractParams) -> ReviewContractResult:
    """Return the part, and suggest a call for the next one."""
    result = await backend.run_operation(CONTRACT, params)
    if not result.next_cursor:
        return result
    arguments = {"format": params.format, "cursor": result.next_cursor}
    arguments |= {"draft": params.draft} if params.draft else {}
    arguments |= {"path": params.path} if params.path else {}
    return replace(result, next=[NextCall("review_contract", arguments, "read on")])


def do(repository: ProjectRepository, params: ReviewContractParams) -> ReviewContractResult:
    """Return a part of the contract; without a draft, of the live release."""
    from bbops.interfaces.mcp.drafting.serialization import cut  # noqa: PLC0415
    from bbops.review.contract.describe import describe, read_pages  # noqa: PLC0415
    from bbops.review.contract.files import FORMATS  # noqa: PLC0415

    is_draft = bool(params.draft) and params.draft != repository.live
    commit = (
        repository.find(params.draft)
        if is_draft or not repository.published
        else repository.published
    )
    tree = repository.tree(commit)
    project, _ = repository.check(tree)
    if project is None:
        arguments = {"draft": params.draft} if params.draft else {}
        call = NextCall("validate_draft", arguments, "see what is wrong")
        raise ToolError("it has errors, so its contract is unknown", next=(call,))
    whole = describe(project, read_pages(tree))
    narrowed = dataclasses.replace(_narrow(whole, params.path), server=repository.url.rstrip("/"))
    form = FORMATS[params.format]
    start = int(params.cursor) if params.cursor.isdecimal() else 0
    text, is_cut = cut(form.render(narrowed)[start:], MAX_RESULT)
    return ReviewContractResult(
        commit=commit, digest=whole.digest, content_type=form.content_type, text=text,
        routes=[_title(operation) for operation in whole.operations][: 0 if start else MAX_ROUTES],
        next_cursor=str(start + len(text)) if is_cut else "",
    )  # fmt: skip


def _title(operation: Operation) -> str:
    return f"{operation.method} {operation.path}"


def _narrow(whole: Whole, path: str) -> Whole:
    """Return the contract of one route, with the shapes that it uses."""
    if not path:
        return whole
    path_template = re.sub(r":([A-Za-z_][A-Za-z0-9_]*)", r"{\1}", path)
    operations = tuple(
        item for item in whole.operations if path_template in {item.path, _title(item)}
    )
    if not operations:
        near = suggest(path_template, [item.path for item in whole.operations])
        raise ToolError(f"no route has the path '{path[:100]}'", hint=near or "leave out the path")
    names = {name for operation in operations for name in _shapes(operation)}
    while more := {used for name in names for used in _shapes(whole.shapes.get(name))} - names:
        names |= more
    shapes = {name: shape for name, shape in whole.shapes.items() if name in names}
    return dataclasses.replace(whole, operations=operations, shapes=shapes, pages=())


def _shapes(value: object) -> list[str]:
    return _SHAPE.findall(msgspec.json.encode(value).decode())


CONTRACT = RepositoryOperation("review_contract", ReviewContractParams, ReviewContractResult, do)

TOOL = McpTool(
    "review_contract", "API contract",
    "OpenAPI, Markdown, JSON or SDK contract. Large: ask for one path.",
    ReviewContractParams, ReviewContractResult, run,
)  # fmt: skip
