"""Drafts: branches with a preview, and tokens that open them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

import msgspec
from litestar import Response
from litestar.exceptions import NotFoundException
from litestar.params import Body, FromPath, FromQuery

from bbops.base.errors import BbopsError
from bbops.interfaces.answers import DraftStatus
from bbops.source.git.proposals import proposal_of
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.frame import Panel
from bbops_server.control_plane.web.guard import POLICY
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.routes import change, form, page, read
from bbops_server.control_plane.web.visit import Here, Visit
from bbops_server.data_plane.drafts.keys import make_token, mark_of
from bbops_server.git_http.repository import knows
from bbops_server.publish.drafts.drafts import ProjectDrafts

PAGE_HOURS: Final = 12
MAX_HOURS: Final = 30 * 24
MAX_ROWS: Final = 100_000


class TokenRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The number of hours for which a token is valid."""

    hours: Annotated[int, msgspec.Meta(ge=1, le=MAX_HOURS)] = PAGE_HOURS


class DraftToken(msgspec.Struct, frozen=True):
    """A token for the header `x-draft-token` of requests to a draft."""

    url: str
    token: str
    expires_at: datetime


class RenewedDraft(msgspec.Struct, frozen=True):
    """The draft starts with an empty database at its next request."""

    status: str = "renewed"


class RowCopyRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The newest rows of `tables`, or of all tables; `masked` are additional columns to hide."""

    tables: Annotated[list[str], msgspec.Meta(max_length=1_000)] = []
    limit: Annotated[int, msgspec.Meta(ge=1, le=MAX_ROWS)] = 1_000
    masked: Annotated[list[str], msgspec.Meta(max_length=1_000)] = []


class HostsRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hosts that the draft may reach at its newest `commit`, a full id, besides the live ones."""

    commit: str
    hosts: Annotated[list[str], msgspec.Meta(min_length=1, max_length=100)]


class AllowedHosts(msgspec.Struct, frozen=True):
    """All hosts that are allowed for this commit."""

    hosts: tuple[str, ...]


class DraftRowCounts(msgspec.Struct, frozen=True):
    """The number of copied rows by table."""

    rows: dict[str, int]


@read("/api/projects/{name:str}/drafts", Permission.READ_DRAFTS)
async def list_drafts(visit: Here, name: FromPath[str]) -> list[DraftStatus]:
    """Every branch except the live one, with the URL and state of its preview."""
    return _drafts(visit, name).list()


@change("/api/projects/{name:str}/drafts/{slug:str}/token", Permission.OPEN_DRAFT, status=201)
async def create_token(
    visit: Here, name: FromPath[str], slug: FromPath[str], data: Annotated[TokenRequest, Body()]
) -> DraftToken:
    """Create a token for the draft; it ends with its user's role."""
    draft = _find(visit, name, slug)
    await visit.note("open draft", object=f"{name} {draft.branch}")
    await _admit(visit, name)
    return _create(visit, name, draft, data.hours)


@change("/api/projects/{name:str}/drafts/{slug:str}/renew", Permission.RENEW_DRAFT)
async def renew(visit: Here, name: FromPath[str], slug: FromPath[str]) -> RenewedDraft:
    """Reset the draft's database, history and generated values."""
    draft = _find(visit, name, slug)
    await _drafts(visit, name).renew(draft.slug)
    await visit.note("renew draft", object=f"{name} {draft.branch}")
    return RenewedDraft()


@change("/api/projects/{name:str}/drafts/{slug:str}/hosts", Permission.ALLOW_HOSTS, status=200)
async def allow_hosts(
    visit: Here, name: FromPath[str], slug: FromPath[str], data: Annotated[HostsRequest, Body()]
) -> AllowedHosts:
    """Allow the draft to reach more hosts than the live release, until the next push."""
    draft = _find(visit, name, slug)
    try:
        hosts = await _drafts(visit, name).allow(
            draft.slug, data.commit, data.hosts, visit.caller.email, name
        )
    except BbopsError as error:
        raise refuse(error) from None
    text = f"{name} {draft.branch} {data.commit.lower()}: {', '.join(data.hosts)}"
    await visit.note("allow hosts", object=text[:200])
    return AllowedHosts(hosts)


@change("/api/projects/{name:str}/drafts/{slug:str}/rows", Permission.COPY_ROWS, status=200)
async def copy_rows(
    visit: Here, name: FromPath[str], slug: FromPath[str], data: Annotated[RowCopyRequest, Body()]
) -> DraftRowCounts:
    """Copy live rows into the draft's database, without the values of private columns."""
    draft = _find(visit, name, slug)
    try:
        rows = await _drafts(visit, name).copy_rows(
            draft.slug, data.tables, limit=data.limit, masked=data.masked
        )
    except BbopsError as error:
        raise refuse(error) from None
    await visit.note("copy rows", object=f"{name} {draft.branch}: {', '.join(rows)}")
    return DraftRowCounts(rows)


@page("/projects/{name:str}/drafts", Permission.READ_PROJECT)
async def show_drafts(visit: Here, name: FromPath[str], done: FromQuery[str] = "") -> Response[Any]:
    """Show the drafts, each with a button that opens it."""
    await _admit(visit, name)
    drafts = [
        (draft, _create(visit, name, draft, PAGE_HOURS)) for draft in _drafts(visit, name).list()
    ]
    notice = "The draft was reset." if done == "renewed" else ""
    is_hosted = visit.control.git is not None and knows(visit.control.git.projects, name)
    answer = visit.page(
        "drafts", project=name, drafts=drafts, notice=notice, proposal_of=proposal_of,
        may_propose=is_hosted and visit.may(Permission.PROPOSE, name),
    )  # fmt: skip
    answer.headers["content-security-policy"] = _policy(drafts)
    return answer


@form("/projects/{name:str}/drafts/{slug:str}/renew", Permission.RENEW_DRAFT)
async def renew_by_page(visit: Here, name: FromPath[str], slug: FromPath[str]) -> Response[Any]:
    """Reset the draft's database."""
    draft = _find(visit, name, slug)
    await _drafts(visit, name).renew(draft.slug)
    await visit.note("renew draft", object=f"{name} {draft.branch}")
    return visit.go(f"/projects/{name}/drafts?done=renewed")


def _policy(drafts: list[tuple[DraftStatus, DraftToken]]) -> str:
    """Return the content security policy of a page whose forms post to the drafts' origins."""
    parts = [urlsplit(draft.url) for draft, _ in drafts]
    origins = sorted({f"{part.scheme}://{part.netloc}" for part in parts})
    return POLICY.replace("form-action 'self'", " ".join(["form-action 'self'", *origins]))


def _create(visit: Visit, name: str, draft: DraftStatus, hours: int) -> DraftToken:
    expires = datetime.now(UTC) + timedelta(hours=hours)  # noqa: TID251 - the server's own clock
    key = _drafts(visit, name).key(draft.slug)
    token = make_token(key, expires.timestamp(), mark_of(visit.caller.person))
    return DraftToken(draft.url, token, expires)


async def _admit(visit: Visit, name: str) -> None:
    """Publish a role that the user has just got to the data processes."""
    if visit.control.membership is not None:
        await visit.control.membership.ensure_member(visit.caller.person, name)


def _find(visit: Visit, name: str, slug: str) -> DraftStatus:
    draft = _drafts(visit, name).find(slug)
    if draft is None:
        raise NotFoundException(f"project '{name}' has no draft '{slug}'")
    return draft


def _drafts(visit: Visit, name: str) -> ProjectDrafts:
    drafts = visit.control.status.drafts(name)
    if drafts is None:
        raise NotFoundException(f"there is no project '{name}'")
    return drafts


PANEL = Panel(
    "Ship", 10, "Drafts", "branch", "/drafts",
    actions=(
        ("New draft", Permission.PUSH_DRAFT),
        ("Propose a draft", Permission.PROPOSE),
        ("Reset a draft", Permission.RENEW_DRAFT),
    ),
)  # fmt: skip
ROUTES = (list_drafts, create_token, renew, allow_hosts, copy_rows, show_drafts, renew_by_page)
