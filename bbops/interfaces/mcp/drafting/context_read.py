"""Read whole resources, as many as fit into one result."""

from __future__ import annotations

import msgspec

from bbops.interfaces.mcp.drafting.bench import Bench
from bbops.interfaces.mcp.drafting.files import Files, read_body
from bbops.interfaces.mcp.models import MOST_RESULT
from bbops.interfaces.mcp.project.context_read import Body, Read, Reading
from bbops.interfaces.mcp.refs import Ref, near, parse_ref
from bbops.interfaces.mcp.tool import Refused


def do(bench: Bench, taken: Reading) -> Read:
    """Return them, and what is missing or did not fit."""
    commit = bench.find(taken.draft)
    files = Files(bench.tree(commit))
    missing, refs = dict[str, str](), list[Ref]()
    for text in dict.fromkeys(taken.refs):
        try:
            ref = parse_ref(text)
        except Refused as refused:
            missing[text] = refused.hint or refused.message
            continue
        if ref in files.entries:
            refs.append(ref)
        else:
            missing[text] = near(text, files.entries)
    bodies, left = _take(files, list(dict.fromkeys(refs)))
    return Read(commit=commit, resources=bodies, left=left, missing=missing)


def _take(files: Files, refs: list[Ref]) -> tuple[list[Body], list[str]]:
    read, bodies, size = files.read(refs), list[Body](), 0
    for at, ref in enumerate(refs):
        body = _body(files, ref, read.get(ref))
        size += len(msgspec.json.encode(body.body))
        if size > MOST_RESULT and bodies:
            return bodies, [str(one) for one in refs[at:]]
        bodies.append(body)
    return bodies, []


def _body(files: Files, ref: Ref, data: bytes | None) -> Body:
    digest = files.entries[ref].blob
    body, problem = read_body(ref, data) if data is not None else (None, "it is too large")
    if len(msgspec.json.encode(body)) > MOST_RESULT:
        size = files.entries[ref].size_bytes
        body, problem = None, f"it has {size:,} bytes, too many to show: clone the repository"
    return Body(str(ref), digest, ref.file, body, problem)
