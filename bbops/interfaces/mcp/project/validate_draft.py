"""Check a draft: its files, what they compile to, its tests."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from bbops.interfaces.mcp.models import Draft, Found
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import Call, Gives, Takes, Tool
from bbops.interfaces.mcp.work import Work


class Checking(Takes, frozen=True):
    """What is checked, and how far."""

    draft: Draft = ""
    level: Annotated[
        Literal["schema", "compile", "test"], Meta(description="each includes the previous ones")
    ] = "compile"


class Tests(msgspec.Struct, frozen=True):
    """What the tests gave."""

    cases: int
    failed: int
    seconds: float


class Checked(Gives, frozen=True, kw_only=True):
    """What was found; `more` findings are not shown."""

    commit: str
    ok: bool
    diagnostics: list[Found]
    more: int = 0
    tests: Tests | None = None


CHECK = Work("validate_draft", Checking, Checked)


async def run(place: ProjectBackend, taken: Checking) -> Checked:
    """Check, run the tests where they can run, and say how to go on."""
    done = await place.work(CHECK, taken)
    if taken.level == "test" and done.ok:
        tested = await place.test(done.commit)
        done = replace(
            done, ok=not tested.diagnostics,
            diagnostics=[*tested.diagnostics, *done.diagnostics],
            tests=Tests(tested.cases, tested.failed, tested.seconds),
        )  # fmt: skip
    refs = sorted({one.ref for one in done.diagnostics if one.ref and one.severity == "error"})
    more = {"draft": taken.draft} if taken.draft else {}
    if refs:
        why = "read the resources with errors"
        return replace(done, next=[Call("context_read", {"refs": refs[:20], **more}, why)])
    arguments = {"draft": taken.draft, "title": "Say what changes", "body": ""}
    calls = [Call("apply_pull_request", arguments, "ask for review")] if taken.draft else []
    return replace(done, next=calls)


TOOL = Tool(
    "validate_draft", "Validate a draft",
    "Checks files, compiles functions, runs tests. Each diagnostic has file, line, hint and, if"
    " known, a fix: a change to send to preview_changes.",
    Checking, Checked, run,
)  # fmt: skip
