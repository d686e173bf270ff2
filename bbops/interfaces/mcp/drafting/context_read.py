"""Read whole resources, as many as fit into one result."""

from __future__ import annotations

import msgspec

from bbops.interfaces.mcp.drafting.files import ResourceFiles, read_body
from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository
from bbops.interfaces.mcp.models import MAX_RESULT
from bbops.interfaces.mcp.project.context_read import (
    ContextReadParams,
    ContextReadResult,
    ResourceBody,
)
from bbops.interfaces.mcp.refs import Ref, near, parse_ref
from bbops.interfaces.mcp.tool import ToolError


def do(repository: ProjectRepository, params: ContextReadParams) -> ContextReadResult:
    """Return the resources, and the refs that do not exist or did not fit."""
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
    digest = files.entries[ref].blob
    body, problem = read_body(ref, data) if data is not None else (None, "it is too large")
    if len(msgspec.json.encode(body)) > MAX_RESULT:
        size = files.entries[ref].size_bytes
        body, problem = None, f"it has {size:,} bytes, too many to show: clone the repository"
    return ResourceBody(str(ref), digest, ref.file, body, problem)
