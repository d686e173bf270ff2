"""List resources, each with what it is in a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import UnsetType

from bbops.interfaces.mcp.drafting.bench import Bench
from bbops.interfaces.mcp.drafting.files import TEXT, Files, read_body
from bbops.interfaces.mcp.models import DOC, FOLDERS, Kind, Resource
from bbops.interfaces.mcp.project.context_list import Listed, Listing
from bbops.interfaces.mcp.refs import Ref, parse_ref
from bbops.language.loading.load import model_of

LONGEST: Final = 160


def do(bench: Bench, taken: Listing) -> Listed:
    """Return a page, in the order of the refs."""
    commit = bench.find(taken.draft)
    files = Files(bench.tree(commit))
    refs = sorted(one for one in files.entries if _is_of(one, taken.kind))
    words = taken.query.lower().split()
    lines = _summaries(files, refs) if words else {}
    wanted = [one for one in refs if _has(one, lines.get(one, ""), words)]
    begin = parse_ref(taken.cursor) if taken.cursor else None
    page = [one for one in wanted if begin is None or one > begin][: taken.limit]
    lines |= _summaries(files, [one for one in page if one not in lines])
    is_last = not page or page[-1] == wanted[-1]
    return Listed(
        commit=commit, total=len(wanted), next_cursor="" if is_last else str(page[-1]),
        resources=[
            Resource(str(one), files.entries[one].blob, lines[one], one.file) for one in page
        ],
    )  # fmt: skip


def _is_of(ref: Ref, kind: Kind | UnsetType) -> bool:
    return isinstance(kind, UnsetType) or ref.kind == kind


def _has(ref: Ref, line: str, words: list[str]) -> bool:
    text = f"{ref} {ref.file} {line}".lower()
    return all(word in text for word in words)


def _summaries(files: Files, refs: list[Ref]) -> dict[Ref, str]:
    read = files.read(refs)
    return {ref: summarize(ref, read.get(ref, b"")) for ref in refs}


def summarize(ref: Ref, data: bytes) -> str:
    """Return what a resource is in a line; why it cannot be read, where it cannot."""
    body, problem = read_body(ref, data)
    if body is None:
        return f"cannot be read: {problem}"[:LONGEST]
    said = str(body.get("description") or "")
    model = None if ref.kind == DOC else model_of(FOLDERS[ref.kind], ref.name, body)
    known = _title(body) if model is None else model.summarize(body)
    line = " ".join(" · ".join(filter(None, (known, said))).split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def _title(body: Mapping[str, Any]) -> str:
    return str(body.get(TEXT, "")).lstrip("# ").partition("\n")[0]
