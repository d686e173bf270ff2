"""The Playground: a form for each endpoint, which sends requests to live and to drafts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final
from urllib.parse import quote, urlencode

from litestar import Response, post
from litestar.exceptions import ClientException, HTTPException, NotFoundException
from litestar.params import FromPath, QueryParameter

from bbops.review.contract.contract import Operation
from bbops.review.contract.form_fields import RequestForm
from bbops.review.contract.form_requests import FilledForm
from bbops.review.contract.sessions import endpoint_name
from bbops_server.accounts.rules import Permission
from bbops_server.accounts.text_rules import AccountError
from bbops_server.control_plane.panels.playground_forms import (
    JSON_MODE,
    PageForm,
    fill_example,
    fill_paths,
    leave_out,
    read_page_form,
    uses_json,
)
from bbops_server.control_plane.panels.playground_modes import find_left_out, switch_mode
from bbops_server.control_plane.playground.kept_forms import read_form
from bbops_server.control_plane.playground.results import (
    ComparedResponses,
    PlaygroundResult,
    TraceView,
    view_trace,
)
from bbops_server.control_plane.playground.rows import RowChoice, read_choices
from bbops_server.control_plane.playground.saved_tests import (
    SavedTest,
    TestCommit,
    commit_test,
    default_draft,
    preview_test,
)
from bbops_server.control_plane.playground.sending import (
    MAX_INPUT_BYTES,
    PlaygroundTarget,
    find_login,
)
from bbops_server.control_plane.web.frame import Panel
from bbops_server.control_plane.web.outline_page import OutlineLinks
from bbops_server.control_plane.web.refusals import error_text
from bbops_server.control_plane.web.routes import IS_FORM, PERMISSION, page
from bbops_server.control_plane.web.visit import Here

MAX_PAGE_BYTES: Final = MAX_INPUT_BYTES + (256 << 10)
"""A form is a bit longer than its body."""
CHOICES_SECONDS: Final = 3.0
"""How long a page waits for rows of its draft."""
_MAX_ENDPOINTS: Final = 500
_SHOWN_AGAIN: Final = frozenset({400, 409, 413, 429})
"""Errors that are shown above the form, which stays filled."""

Slug = Annotated[str, QueryParameter(name="in", max_length=400)]
Mode = Annotated[str, QueryParameter(name="body", max_length=10)]
Number = Annotated[int, QueryParameter(ge=0)]


@dataclass(frozen=True, slots=True)
class PlaygroundPage:
    """One endpoint's page, with the result of a request if one was sent."""

    target: PlaygroundTarget
    operation: Operation
    form: RequestForm
    given: PageForm
    result: PlaygroundResult | None = None
    compared: ComparedResponses | None = None
    is_confirming: bool = False
    error: AccountError | None = None
    notice: str = ""
    committed: str = ""
    """The branch of a commit that was made."""
    saved: SavedTest | None = None

    @property
    def name(self) -> str:
        """The name of the endpoint."""
        return endpoint_name(self.operation.id)

    @property
    def path(self) -> str:
        """The path of the page."""
        return path_of(self.target.project, self.name)

    def url(self, **query: str) -> str:
        """Return the URL of the page, for the same draft."""
        slug = {"in": self.target.draft.slug} if self.target.draft is not None else {}
        asked = urlencode({**slug, **query})
        return f"{self.path}?{asked}" if asked else self.path

    def text_of_login(self, name: str) -> str:
        """Return the text of a field of the login."""
        return "\n".join(self.given.login.values.get(name, ()))

    def text(self, name: str) -> str:
        """Return the text of a field."""
        return "\n".join(self.given.filled.values.get(name, ()))

    @property
    def query_lines(self) -> str:
        """The additional query fields, one per line."""
        return "\n".join(f"{name}={value}" for name, value in self.given.filled.query)

    @property
    def header_lines(self) -> str:
        """The additional headers, one per line."""
        return "\n".join(f"{name}: {value}" for name, value in self.given.filled.headers)


@page("/projects/{name:str}/playground", Permission.READ_PROJECT)
async def show_endpoints(visit: Here, name: FromPath[str], slug: Slug = "") -> Response[Any]:
    """Show the endpoints of live or of a draft."""
    target = await PlaygroundTarget.open(visit, name, slug)
    query = f"?in={quote(target.draft.slug)}" if target.draft is not None else ""
    rows = [
        (item, endpoint_name(item.id), path_of(name, endpoint_name(item.id)) + query)
        for item in target.contract.operations[:_MAX_ENDPOINTS]
    ]
    left = len(target.contract.operations) - len(rows)
    outline = (await visit.control.outlines.find(name, "")).outline
    return visit.page(
        "playground_list", project=name, target=target, rows=rows, left=left,
        engine=outline.engine if outline is not None else "",
    )  # fmt: skip


@page("/projects/{name:str}/playground/{endpoint:path}", Permission.READ_PROJECT)
async def show_playground(
    visit: Here, name: FromPath[str], endpoint: FromPath[str], slug: Slug = "", mode: Mode = "",
    example: Number = 0, call: Number = 0, rows: Number = 0,
) -> Response[Any]:  # fmt: skip
    """Show the form of an endpoint: empty, with an example, or as it was sent before.

    Its fields offer rows of an awake draft; `rows=1` wakes the draft for them.
    """
    target = await PlaygroundTarget.open(visit, name, slug)
    operation = target.operation(endpoint.strip("/"))
    form = target.form(operation)
    is_json = uses_json(form, mode)
    if call:
        filled, is_json = await _fill_call(target, operation, call, is_json=is_json)
    else:
        fill = fill_example if example else fill_paths
        filled = fill(operation, form, is_json=is_json)
    shown = PlaygroundPage(target, operation, form, PageForm(filled, is_json=is_json))
    choices = await _find_choices(shown, wakes=bool(rows))
    if not (call or example):  # the row of an example is not among the rows of a draft
        shown = replace(shown, given=PageForm(leave_out(filled, choices), is_json=is_json))
    return await _show(shown, choices)


@post(
    "/projects/{name:str}/playground/{endpoint:path}", include_in_schema=False, status_code=200,
    opt={PERMISSION: Permission.READ_PROJECT, IS_FORM: True},
    request_max_body_size=MAX_PAGE_BYTES,
)  # fmt: skip
async def send_by_page(
    visit: Here, name: FromPath[str], endpoint: FromPath[str], slug: Slug = ""
) -> Response[Any]:
    """Send the request of the form, and show its response beside the form."""
    target = await PlaygroundTarget.open(visit, name, slug)
    operation = target.operation(endpoint.strip("/"))
    form = target.form(operation)
    try:
        given = await read_page_form(visit, form)
    except ClientException as error:
        shown = AccountError(error_text(error))
        return await _show(PlaygroundPage(target, operation, form, PageForm(), error=shown))
    if given.action == "forget":
        await visit.control.run(visit.book.playground.forget, target.owner(operation))
        return visit.go(PlaygroundPage(target, operation, form, given).url())
    try:
        return await _show(await _act(PlaygroundPage(target, operation, form, given)))
    except HTTPException as error:
        if error.status_code not in _SHOWN_AGAIN:
            raise
        shown = AccountError(error_text(error))
        return await _show(PlaygroundPage(target, operation, form, given, error=shown))


async def _act(shown: PlaygroundPage) -> PlaygroundPage:
    """Return the page after the pressed button."""
    target, operation, given = shown.target, shown.operation, shown.given
    if given.action == "compare":
        compared = await target.compare(operation, given.filled, given.choice())
        return replace(shown, result=compared.draft, compared=compared)
    if given.action in {"test", "commit"}:
        return await _save(shown)
    if given.action == "switch":
        switched = switch_mode(shown.form, given)
        return replace(shown, given=switched, notice=find_left_out(shown.form, given))
    choice = given.choice()
    sent = find_login(target.contract) if choice.login is not None else None
    is_asked = any(
        target.needs_confirmation(item) and target.may_send(item)
        for item in (operation, sent) if item is not None
    )  # fmt: skip
    if is_asked and not given.is_confirmed:
        return replace(shown, is_confirming=True)
    result = await target.send(operation, given.filled, choice, confirmed=given.is_confirmed)
    return replace(shown, result=result)


async def _save(shown: PlaygroundPage) -> PlaygroundPage:
    """Return the page with the preview of a test, or with the commit of the previewed one."""
    target, operation, given = shown.target, shown.operation, shown.given
    draft = given.draft or default_draft(target, operation)
    if given.action == "commit":
        name = endpoint_name(operation.id)
        done = await commit_test(target.visit, target.project, TestCommit(draft, given.plan, name))
        return replace(shown, committed=done.draft)
    if given.expected is None:
        raise ClientException("send the request first: the test expects its response")
    saved = await preview_test(
        target, operation, given.filled, given.choice_of_test(), given.expected, name=given.case,
        draft=draft,
    )  # fmt: skip
    return replace(shown, saved=saved)


async def _show(
    shown: PlaygroundPage, choices: Mapping[str, Sequence[RowChoice]] | None = None
) -> Response[Any]:
    target, visit = shown.target, shown.target.visit
    links = OutlineLinks(target.project, target.draft.slug if target.draft is not None else "")
    owner = target.owner(shown.operation)
    calls = await visit.control.run(visit.book.playground.list, owner)
    answer = visit.page(
        "playground", _status(shown), project=target.project, page=shown, target=target,
        operation=shown.operation, form=shown.form, given=shown.given, result=shown.result,
        calls=calls, error=shown.error, json_mode=JSON_MODE, trace=await _view_trace(shown, links),
        tabs=_tabs(shown, links),
        may_save=visit.may(Permission.PROPOSE, target.project),
        new_draft=default_draft(target, shown.operation),
        may_send=target.may_send(shown.operation),
        login=_login_form(target),
        choices=await _find_choices(shown) if choices is None else choices,
        is_asleep=target.draft is not None and not _is_awake(target),
        may_sign_in=visit.may(Permission.PUSH_DRAFT, target.project) and target.draft is not None,
    )  # fmt: skip
    answer.headers["cache-control"] = "no-store"
    return answer


async def _find_choices(
    shown: PlaygroundPage, *, wakes: bool = False
) -> dict[str, list[RowChoice]]:
    """Return the rows that the fields offer.

    None if the draft does not respond in time, or sleeps and is not to be woken.
    """
    if not (wakes or _is_awake(shown.target)):
        return {}
    try:
        async with asyncio.timeout(CHOICES_SECONDS):
            return await read_choices(shown.target, endpoint_name(shown.operation.id))
    except (HTTPException, TimeoutError):
        return {}


def _is_awake(target: PlaygroundTarget) -> bool:
    """Return whether the draft of a target serves now; false for live."""
    drafts = target.visit.control.status.drafts(target.project)
    if drafts is None or target.draft is None:
        return False
    draft = drafts.find(target.draft.slug)
    return draft is not None and draft.state == "awake"


def _login_form(target: PlaygroundTarget) -> RequestForm | None:
    """Return the form of the project's login; None if it has none, or the caller may not send it.

    A login with a body of unknown fields has none either: type its token instead.
    """
    login = find_login(target.contract)
    if login is None or not target.may_send(login):
        return None
    form = target.form(login)
    return form if form.of("body") else None


def _tabs(shown: PlaygroundPage, links: OutlineLinks) -> list[tuple[str, str, bool, str]]:
    """Return the tabs of the endpoint, of which this page is the first."""
    name = endpoint_name(shown.operation.id)
    others = [
        (title, links.endpoint(name, title.lower()), False, "")
        for title in ("Definition", "Function", "Requests", "Tests", "YAML")
        if title != "Requests" or shown.target.visit.may(Permission.READ_REQUESTS, links.project)
    ]
    return [("Playground", links.playground(name), True, ""), *others]


async def _view_trace(shown: PlaygroundPage, links: OutlineLinks) -> TraceView | None:
    """Return the trace of the result; None without one."""
    if shown.result is None or not shown.result.trace:
        return None
    found = await shown.target.visit.control.outlines.find(links.project, links.draft)
    return view_trace(shown.result.trace, found.outline, links)


def _status(shown: PlaygroundPage) -> int:
    return 400 if shown.error is not None else 200


async def _fill_call(
    target: PlaygroundTarget, operation: Operation, number: int, *, is_json: bool
) -> tuple[FilledForm, bool]:
    """Return the form of a kept call of the caller. Raises: NotFoundException: it is deleted."""
    visit = target.visit
    call = await visit.control.run(
        visit.book.playground.find, target.owner(operation), number
    )  # fmt: skip
    if call is None:
        raise NotFoundException("this call is not kept any more")
    filled = read_form(call.form)
    return filled, is_json or filled.body is not None


def path_of(project: str, endpoint: str) -> str:
    """Return the path of an endpoint's page."""
    return f"/projects/{quote(project)}/playground/{quote(endpoint)}"


PANEL = Panel(
    "Build", 15, "Playground", "play", "/playground", in_drafts=True,
    actions=(("Send a request", Permission.CALL_LIVE),),
)  # fmt: skip
ROUTES = (show_endpoints, show_playground, send_by_page)
