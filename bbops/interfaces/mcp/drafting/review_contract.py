"""Write what a commit publishes to its callers: all of it in parts, or one route."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

import msgspec

from bbops.base.diagnostics import suggest
from bbops.interfaces.mcp.drafting.bench import Bench
from bbops.interfaces.mcp.drafting.serialization import cut
from bbops.interfaces.mcp.models import MOST_RESULT
from bbops.interfaces.mcp.project.review_contract import Contract, Wanted
from bbops.interfaces.mcp.tool import Call, Refused
from bbops.review.contract.contract import Contract as Whole
from bbops.review.contract.contract import Operation
from bbops.review.contract.describe import describe, read_pages
from bbops.review.contract.export import FORMATS

MOST_ROUTES: Final = 200
_SHAPE: Final = re.compile(r"#/shapes/([^\"/]+)")


def do(bench: Bench, taken: Wanted) -> Contract:
    """Return a part of it; without a draft, of what is published."""
    is_draft = bool(taken.draft) and taken.draft != bench.live
    commit = bench.find(taken.draft) if is_draft or not bench.published else bench.published
    tree = bench.tree(commit)
    project, _ = bench.check(tree)
    if project is None:
        arguments = {"draft": taken.draft} if taken.draft else {}
        call = Call("validate_draft", arguments, "see what is wrong")
        raise Refused("it has errors, so its effects are unknown", next=(call,))
    whole = describe(project, read_pages(tree))
    shown = replace(_narrow(whole, taken.path), server=bench.url.rstrip("/"))
    form = FORMATS[taken.format]
    begin = int(taken.cursor) if taken.cursor.isdecimal() else 0
    text, is_cut = cut(form.render(shown)[begin:], MOST_RESULT)
    return Contract(
        commit=commit, digest=whole.digest, content_type=form.content_type, text=text,
        routes=[_title(one) for one in whole.operations][: 0 if begin else MOST_ROUTES],
        next_cursor=str(begin + len(text)) if is_cut else "",
    )  # fmt: skip


def _title(one: Operation) -> str:
    return f"{one.method} {one.path}"


def _narrow(whole: Whole, path: str) -> Whole:
    """Return the contract of one route, with the shapes that it needs."""
    if not path:
        return whole
    wanted = re.sub(r":([A-Za-z_][A-Za-z0-9_]*)", r"{\1}", path)
    found = tuple(one for one in whole.operations if wanted in {one.path, _title(one)})
    if not found:
        near = suggest(wanted, [one.path for one in whole.operations])
        raise Refused(f"no route has the path '{path[:100]}'", hint=near or "leave out the path")
    names = {name for one in found for name in _shapes(one)}
    while more := {one for name in names for one in _shapes(whole.shapes.get(name))} - names:
        names |= more
    shapes = {name: one for name, one in whole.shapes.items() if name in names}
    return replace(whole, operations=found, shapes=shapes, pages=())


def _shapes(value: object) -> list[str]:
    return _SHAPE.findall(msgspec.json.encode(value).decode())
