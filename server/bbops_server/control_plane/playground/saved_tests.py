"""Save a request of the Playground as a test: a previewed commit on a draft, as agents make it."""

from __future__ import annotations

import re
from typing import Any, Final, Literal, NamedTuple

import msgspec

from bbops.base.errors import BbopsError
from bbops.interfaces.mcp.models import DraftChange
from bbops.interfaces.mcp.project.apply_changes import ApplyChangesResult
from bbops.interfaces.mcp.project.context_read import READ, ContextReadParams, ContextReadResult
from bbops.interfaces.mcp.tool import ToolError
from bbops.review.contract.contract import Operation
from bbops.review.contract.form_requests import FilledForm
from bbops.review.contract.recorded_cases import has_row, sample_row, write_case
from bbops.review.contract.sessions import endpoint_name
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.playground.sending import PlaygroundTarget, SignInChoice
from bbops_server.control_plane.projects.draft_changes import (
    commit_plan,
    explain,
    list_problems,
    open_backend,
    preview_changes,
)
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.routes import require_permission
from bbops_server.control_plane.web.visit import Visit

MAX_NAME: Final = 200
UserRow = Literal["", "present", "made-up", "missing"]


class ExpectedResponse(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The response that a test expects: its status, and the body as text."""

    status: int
    body: str = ""


class TestCommit(NamedTuple):
    """A previewed test: the draft to commit to, the plan, and the endpoint."""

    draft: str
    plan: str
    endpoint: str


class SavedTest(msgspec.Struct, frozen=True, rename="camel"):
    """The preview of a test.

    Attributes:
        yaml: the whole test as YAML, or the case that is added to an existing test.
        plan: the plan to commit; empty if the repository cannot be changed from here.
        draft: the branch to commit to.
        reason: the reason why it cannot be committed; empty if it can.
        user_row: the row of the signed-in user in the test; `missing` if none can be made up, and
            empty without a user.
    """

    file: str
    yaml: str
    draft: str
    plan: str = ""
    diff: str = ""
    problems: list[str] = []
    reason: str = ""
    user_row: UserRow = ""


async def preview_test(
    target: PlaygroundTarget, operation: Operation, filled: FilledForm, choice: SignInChoice,
    expected: ExpectedResponse, *, name: str, draft: str,
) -> SavedTest:  # fmt: skip
    """Return the preview of a case in the endpoint's test; nothing is committed.

    Args:
        name: of the case; by default the request and its status.
        draft: the branch to commit to; it is created if it is new.

    Raises:
        HTTPException: the caller may not push, or the request cannot be a test.
    """
    await require_permission(target.visit, Permission.PROPOSE, target.project)
    endpoint = endpoint_name(operation.id)
    user = str(choice.user.id) if choice.user is not None else ""
    try:
        case = write_case(
            operation, target.form(operation), filled, status=expected.status,
            response=expected.body, user=user,
            name=(name or f"{operation.method} gives {expected.status}")[:MAX_NAME],
        )  # fmt: skip
    except BbopsError as error:
        raise refuse(error, 400) from None
    try:
        return await _preview(target, endpoint, case, draft, user)
    except (ToolError, BbopsError) as error:
        whole = {"endpoint": endpoint, "cases": [case]}
        return SavedTest(f"tests/{endpoint}.yaml", _yaml(whole), draft, reason=explain(error))


async def commit_test(visit: Visit, project: str, commit: TestCommit) -> ApplyChangesResult:
    """Commit a previewed test. Raises: HTTPException: it cannot be committed."""
    await require_permission(visit, Permission.PROPOSE, project)
    message = f"Test {commit.endpoint}"
    return await commit_plan(visit, project, commit.draft, commit.plan, message)


def default_draft(target: PlaygroundTarget, operation: Operation) -> str:
    """Return the draft of the page, or the name of a new one."""
    words = re.sub(r"[^a-z0-9]+", "-", operation.id.lower()).strip("-")
    return target.branch or f"test-{words}"[:60]


async def _preview(
    target: PlaygroundTarget, endpoint: str, case: dict[str, Any], draft: str, user: str
) -> SavedTest:
    base = draft if target.branch else ""
    backend = open_backend(target.visit, target.project)
    ref = f"test/{endpoint.replace('/', '.')}"
    users = await _find_users(target) if user else ""
    refs = [ref, *([f"table/{users}"] if users else [])]
    read = await backend.run_operation(READ, ContextReadParams(refs=refs, draft=base))
    old = _body(read, ref)
    table = _body(read, f"table/{users}") or {}
    known = [*_rows(old, users), *(table.get("seed") or [])]
    is_present = has_row(table, known, user)
    row = sample_row(table, user) if user and not is_present else None
    data = {"data": {users: [row]}} if row is not None else {}
    if old is None:
        whole: dict[str, Any] = {"endpoint": endpoint, **data, "cases": [case]}
        changes = [DraftChange(op="put", ref=ref, body=whole)]
    else:
        whole = {**data, "cases": [case]}
        path: list[str | int] = ["cases", len(old.get("cases") or [])]
        changes = [DraftChange(op="put", ref=ref, path=path, value=case)]
        if row is not None:
            changes.insert(0, _add_row(ref, old, users, row))
    done = await preview_changes(target.visit, target.project, changes, base)
    file = f"tests/{endpoint}.yaml"
    return SavedTest(
        file, _yaml(whole), draft, done.plan, done.diff, list_problems(done.diagnostics, file),
        user_row=_describe_row(user, row, is_present=is_present),
    )  # fmt: skip


def _describe_row(user: str, row: dict[str, Any] | None, *, is_present: bool) -> UserRow:
    if not user:
        return ""
    if is_present:
        return "present"
    return "missing" if row is None else "made-up"


async def _find_users(target: PlaygroundTarget) -> str:
    """Return the users table of the release that the request was sent to; empty without one."""
    slug = target.draft.slug if target.draft is not None else ""
    outline = (await target.visit.control.outlines.find(target.project, slug)).outline
    return outline.users if outline is not None else ""


def _body(read: ContextReadResult, ref: str) -> dict[str, Any] | None:
    return next((item.body for item in read.resources if item.ref == ref), None)


def _rows(test: dict[str, Any] | None, table: str) -> list[Any]:
    """Return the rows that a test gives to a table."""
    data = (test or {}).get("data")
    rows = data.get(table) if isinstance(data, dict) else None
    return rows if isinstance(rows, list) else []


def _add_row(ref: str, test: dict[str, Any], table: str, row: dict[str, Any]) -> DraftChange:
    if _rows(test, table):
        path: list[str | int] = ["data", table, len(_rows(test, table))]
        return DraftChange(op="put", ref=ref, path=path, value=row)
    if isinstance(test.get("data"), dict):
        return DraftChange(op="put", ref=ref, path=["data", table], value=[row])
    return DraftChange(op="put", ref=ref, path=["data"], value={table: [row]})


def _yaml(body: dict[str, Any]) -> str:
    from bbops.source.yaml.merge import Unwritable, merge  # noqa: PLC0415 - slow, rarely needed

    try:
        return merge(None, body)
    except Unwritable as error:
        raise refuse(BbopsError(f"the test cannot be written as YAML: {error}"), 400) from None
