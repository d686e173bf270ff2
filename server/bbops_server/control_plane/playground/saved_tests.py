"""Save a request of the Playground as a test: a previewed commit on a draft, as agents make it."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

import msgspec

from bbops.base.errors import BbopsError
from bbops.interfaces.mcp.models import DraftChange
from bbops.interfaces.mcp.project.apply_changes import ApplyChangesResult
from bbops.interfaces.mcp.project.context_read import READ, ContextReadParams
from bbops.interfaces.mcp.tool import ToolError
from bbops.review.contract.contract import Operation
from bbops.review.contract.form_requests import FilledForm
from bbops.review.contract.recorded_cases import write_case
from bbops.review.contract.sessions import endpoint_name
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.playground.sending import (
    PlaygroundTarget,
    SignInChoice,
)
from bbops_server.control_plane.projects.draft_changes import (
    commit_plan,
    explain,
    list_problems,
    open_backend,
    preview_changes,
)
from bbops_server.control_plane.web.permissions import require_permission
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.visit import Visit

MAX_NAME: Final = 200


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
    """

    file: str
    yaml: str
    draft: str
    plan: str = ""
    diff: str = ""
    problems: list[str] = []
    reason: str = ""


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
        return await _preview(target, endpoint, case, draft)
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
    target: PlaygroundTarget, endpoint: str, case: dict[str, Any], draft: str
) -> SavedTest:
    base = draft if target.branch else ""
    backend = open_backend(target.visit, target.project)
    ref = f"test/{endpoint.replace('/', '.')}"
    read = await backend.run_operation(READ, ContextReadParams(refs=[ref], draft=base))
    body = next((item.body for item in read.resources), None)
    if body is None:
        whole: dict[str, Any] = {"endpoint": endpoint, "cases": [case]}
        change = DraftChange(op="put", ref=ref, body=whole)
    else:
        whole = {"cases": [case]}
        path: list[str | int] = ["cases", len(body.get("cases") or [])]
        change = DraftChange(op="put", ref=ref, path=path, value=case)
    done = await preview_changes(target.visit, target.project, [change], base)
    file = f"tests/{endpoint}.yaml"
    problems = list_problems(done.diagnostics, file)
    return SavedTest(file, _yaml(whole), draft, done.plan, done.diff, problems)


def _yaml(body: dict[str, Any]) -> str:
    from bbops.source.yaml.merge import Unwritable, merge  # noqa: PLC0415 - slow, rarely needed

    try:
        return merge(None, body)
    except Unwritable as error:
        raise refuse(BbopsError(f"the test cannot be written as YAML: {error}"), 400) from None
