"""Duplicate, delete, hide and describe endpoints: previewed commits, as `bbops copy|rm|set`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Final, Literal, NamedTuple

import msgspec
from litestar.exceptions import ClientException, NotFoundException
from litestar.params import Body, FromPath
from msgspec import Meta

from bbops.base.diagnostics import suggest
from bbops.base.errors import BbopsError
from bbops.interfaces.mcp.models import DraftChange
from bbops.interfaces.mcp.tool import ToolError
from bbops.review.outline.outline import EndpointOutline, Outline
from bbops.source.git.proposals import proposal_of
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.projects.draft_changes import (
    CommittedChange,
    DraftName,
    Message,
    commit_plan,
    find_other_repository,
    list_effects,
    list_problems,
    preview_changes,
    read_patch,
)
from bbops_server.control_plane.projects.shell_commands import write_patch_command
from bbops_server.control_plane.projects.visited_project import PROJECT
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.routes import change
from bbops_server.control_plane.web.visit import Here, Visit

MAX_DESCRIPTION: Final = 20_000
MAX_NAME: Final = 200
MAX_PATH: Final = 500
Operation = Literal["copy", "delete", "docs", "describe"]
_Name = Annotated[str, Meta(max_length=MAX_NAME)]


class EndpointChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change of an endpoint, and the draft to commit it to.

    `copy` has the name of the copy in `to`, and its route in `path`. `delete` keeps the function;
    with `tests` it also deletes the tests of the endpoint. `docs` shows or hides the endpoint in
    the reference. `describe` sets `description`; an empty one removes it. By default the draft is
    a new one. A draft that exists is changed, a new one starts from live.
    """

    op: Operation
    endpoint: Annotated[str, Meta(min_length=1, max_length=MAX_NAME)]
    draft: DraftName = ""
    to: _Name = ""
    path: Annotated[str, Meta(max_length=MAX_PATH)] = ""
    docs: Literal["visible", "hidden"] = "hidden"
    description: Annotated[str, Meta(max_length=MAX_DESCRIPTION)] = ""
    tests: bool = False


class EndpointPreview(msgspec.Struct, frozen=True, rename="camel"):
    """The preview of a change.

    Attributes:
        endpoint: the endpoint after the change; of a copy, the copy.
        draft: the branch to commit to.
        message: a commit message.
        plan: the plan to commit; empty if it cannot be committed here.
        ok: the project has no errors after the change.
        effects: the consequences, one line each.
        problems: errors with their places.
        repository: the URL of the original repository, if the server only has a copy of it.
        command: there, the command that makes the same commit in a clone.
    """

    endpoint: str
    draft: str
    message: str
    plan: str
    ok: bool
    summary: str
    effects: list[str]
    problems: list[str]
    diff: str
    is_diff_cut: bool
    repository: str = ""
    command: str = ""


class ChangeCommit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A previewed plan, the draft to commit to, and the message."""

    draft: Annotated[str, Meta(min_length=1, max_length=100)]
    plan: Annotated[str, Meta(min_length=1, max_length=300)]
    message: Message


class ChangedEndpoint(NamedTuple):
    """An endpoint of live or of a draft, and the change of it."""

    visit: Visit
    project: str
    endpoint: EndpointOutline
    change: EndpointChange

    @property
    def draft(self) -> str:
        """The branch to commit to."""
        return self.change.draft or suggest_draft(self.visit, self.project, self.change)

    @property
    def result(self) -> str:
        """The name of the endpoint after the change."""
        return self.change.to if self.change.op == "copy" else self.endpoint.name


@change(f"{PROJECT}/endpoints/change", Permission.PUSH_DRAFT, status=200)
async def preview_endpoint_change(
    visit: Here, name: FromPath[str], data: Annotated[EndpointChange, Body()]
) -> EndpointPreview:
    """Preview a change of an endpoint on a draft; nothing is committed."""
    drafts = visit.control.outlines.drafts_of(name)
    found = drafts.find(data.draft) if data.draft else None
    outline = (await visit.control.outlines.find(name, found.slug if found else "")).outline
    if outline is None:
        raise ClientException("the commit has errors; correct them first", status_code=409)
    if found is not None:
        data = msgspec.structs.replace(data, draft=found.branch)
    endpoint = find_endpoint(outline, data.endpoint)
    try:
        return await preview_endpoint(ChangedEndpoint(visit, name, endpoint, data))
    except (ToolError, BbopsError) as error:
        raise refuse(error) from None


@change(f"{PROJECT}/endpoints/change/commit", Permission.PUSH_DRAFT, status=200)
async def commit_endpoint_change(
    visit: Here, name: FromPath[str], data: Annotated[ChangeCommit, Body()]
) -> CommittedChange:
    """Commit a previewed change to a draft."""
    done = await commit_plan(visit, name, data.draft, data.plan, data.message)
    return CommittedChange(done.draft, done.commit, done.files)


def find_endpoint(outline: Outline, name: str) -> EndpointOutline:
    """Return an endpoint by name. Raises: NotFoundException: it does not exist."""
    names = {endpoint.name: endpoint for endpoint in outline.endpoints}
    if name not in names:
        near = suggest(name, [*names])
        text = f"there is no endpoint '{name[:100]}'"
        raise NotFoundException(f"{text}; {near}" if near else text)
    return names[name]


async def preview_endpoint(changed: ChangedEndpoint) -> EndpointPreview:
    """Return the preview of a change.

    Raises:
        ToolError: the change cannot be made; `BbopsError` likewise.
    """
    require_own_file(changed.endpoint)
    require_draft(changed.draft)
    visit, project, draft = changed.visit, changed.project, changed.draft
    found = await preview_changes(visit, project, [*list_changes(changed)], draft)
    message, repository = write_message(changed), await find_other_repository(visit, project)
    command = ""
    if repository and found.ok and (patch := await read_patch(visit, project, found)):
        command = write_patch_command(draft, found.base, patch, message)
    return EndpointPreview(
        changed.result, draft, message, "" if repository or not found.ok else found.plan,
        found.ok, found.summary, list_effects(found), list_problems(found.diagnostics), found.diff,
        found.is_diff_cut, repository, command,
    )  # fmt: skip


def is_of_table(endpoint: EndpointOutline) -> bool:
    """Return whether an endpoint comes from a file about a table, with other endpoints."""
    return endpoint.file != f"endpoints/{endpoint.name}.yaml"


def require_own_file(endpoint: EndpointOutline) -> None:
    """Raises: BbopsError: the endpoint comes from a file about a table."""
    if is_of_table(endpoint):
        file = endpoint.file.removesuffix(".yaml")
        raise BbopsError(
            f"'{endpoint.name}' comes from {endpoint.file}, which describes all endpoints of a"
            " table, so it cannot be changed alone",
            hint=f"'bbops expand {file}' writes a file for each endpoint",
        )


def require_draft(branch: str) -> None:
    """Raises: BbopsError: the branch is the preview of a proposal."""
    if number := proposal_of(branch):
        raise BbopsError(
            f"'{branch}' is the preview of proposal #{number}, so nothing is committed to it",
            hint="change the draft of the proposal; its preview follows",
        )


def list_changes(changed: ChangedEndpoint) -> Iterator[DraftChange]:
    """Yield the changes of the project's resources. Raises: BbopsError: there are none."""
    endpoint, asked = changed.endpoint, changed.change
    ref = _ref("endpoint", endpoint.name)
    if asked.op == "copy":
        to = _ref("endpoint", asked.to)
        yield DraftChange("copy", ref, to=to)
        if asked.path:
            yield DraftChange("put", to, path=["path"], value=asked.path)
    elif asked.op == "delete":
        yield DraftChange("delete", ref)
        for test in endpoint.tests if asked.tests else ():
            yield DraftChange("delete", _ref("test", test))
    elif asked.op == "docs":
        yield DraftChange("put", ref, path=["docsVisibility"], value=asked.docs)
    elif asked.description:
        yield DraftChange("put", ref, path=["description"], value=asked.description)
    elif endpoint.description:
        yield DraftChange("delete", ref, path=["description"])
    else:
        raise BbopsError(
            "nothing would change", hint=f"'{endpoint.name}' has no description; type one"
        )


def _ref(kind: str, name: str) -> str:
    return f"{kind}/{name.replace('/', '.')}"


def write_message(changed: ChangedEndpoint) -> str:
    """Return a commit message."""
    name, asked = changed.endpoint.name, changed.change
    texts = {
        "copy": f"Copy endpoint {name} to {asked.to}",
        "delete": f"Delete endpoint {name}",
        "docs": f"{'Show' if asked.docs == 'visible' else 'Hide'} endpoint {name}"
        f" {'in' if asked.docs == 'visible' else 'from'} the docs",
        "describe": f"Describe endpoint {name}",
    }
    return texts[asked.op]


def suggest_draft(visit: Visit, project: str, asked: EndpointChange) -> str:
    """Return the name of a new draft."""
    words = re.sub(r"[^a-z0-9]+", "-", asked.endpoint.lower()).strip("-")
    base = f"{asked.op}-{words}"[:60].rstrip("-")
    drafts = visit.control.outlines.drafts_of(project)
    names = (base, *(f"{base}-{number}" for number in range(2, 100)))
    return next((name for name in names if drafts.find(name) is None), base)


ROUTES = (preview_endpoint_change, commit_endpoint_change)
