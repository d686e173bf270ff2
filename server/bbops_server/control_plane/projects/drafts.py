"""Drafts: the branches of a project that are previewed, and what lets somebody into one."""

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
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.guard import POLICY
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.routes import Tab, change, form, page, read
from bbops_server.control_plane.web.visit import Here, Visit
from bbops_server.data_plane.drafts.keys import make_token, mark_of
from bbops_server.publish.projects.protocols import DraftSource

PAGE_HOURS: Final = 12
MOST_HOURS: Final = 30 * 24
MOST_ROWS: Final = 100_000


class Wish(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """For how many hours a token is to be good."""

    hours: Annotated[int, msgspec.Meta(ge=1, le=MOST_HOURS)] = PAGE_HOURS


class Preview(msgspec.Struct, frozen=True):
    """What lets a program into a draft: the header `x-draft-token` with this token."""

    url: str
    token: str
    expires_at: datetime


class Renewed(msgspec.Struct, frozen=True):
    """The draft starts again with an empty database when it is asked for next."""

    status: str = "renewed"


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rows to copy: the newest, of these tables or all; `masked` are columns to hide as well."""

    tables: Annotated[list[str], msgspec.Meta(max_length=1_000)] = []
    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST_ROWS)] = 1_000
    masked: Annotated[list[str], msgspec.Meta(max_length=1_000)] = []


class Hosts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hosts that the draft may reach at `commit`, its newest one, beside those of what is live."""

    commit: str
    hosts: Annotated[list[str], msgspec.Meta(min_length=1, max_length=100)]


class Allowed(msgspec.Struct, frozen=True):
    """All hosts that were allowed for this commit."""

    hosts: tuple[str, ...]


class Copied(msgspec.Struct, frozen=True):
    """How many rows each table got."""

    rows: dict[str, int]


@read("/api/projects/{name:str}/drafts", Permission.READ_PROJECT)
async def list_drafts(visit: Here, name: FromPath[str]) -> list[DraftStatus]:
    """Every branch but the live one: where it is previewed, and how far that is."""
    return _drafts(visit, name).list()


@change("/api/projects/{name:str}/drafts/{slug:str}/token", Permission.OPEN_DRAFT, status=201)
async def create_token(
    visit: Here, name: FromPath[str], slug: FromPath[str], data: Annotated[Wish, Body()]
) -> Preview:
    """A token that lets a program into the draft; it ends with the role of its person."""
    draft = _find(visit, name, slug)
    await visit.note("open draft", object=f"{name} {draft.branch}")
    await _admit(visit, name)
    return _make(visit, name, draft, data.hours)


@change("/api/projects/{name:str}/drafts/{slug:str}/renew", Permission.RENEW_DRAFT)
async def renew(visit: Here, name: FromPath[str], slug: FromPath[str]) -> Renewed:
    """Forget the draft's database, history and made-up values."""
    draft = _find(visit, name, slug)
    await _drafts(visit, name).renew(draft.slug)
    await visit.note("renew draft", object=f"{name} {draft.branch}")
    return Renewed()


@change("/api/projects/{name:str}/drafts/{slug:str}/hosts", Permission.ALLOW_HOSTS, status=200)
async def allow_hosts(
    visit: Here, name: FromPath[str], slug: FromPath[str], data: Annotated[Hosts, Body()]
) -> Allowed:
    """Let the draft reach hosts that the live release does not reach; a push ends that."""
    draft = _find(visit, name, slug)
    try:
        hosts = await _drafts(visit, name).allow(draft.slug, data.commit, data.hosts)
    except BbopsError as error:
        raise refuse(error) from None
    what = f"{name} {draft.branch} {draft.commit[:12]}: {', '.join(data.hosts)}"
    await visit.note("allow hosts", object=what[:200])
    return Allowed(hosts)


@change("/api/projects/{name:str}/drafts/{slug:str}/rows", Permission.COPY_ROWS, status=200)
async def copy_rows(
    visit: Here, name: FromPath[str], slug: FromPath[str], data: Annotated[Wanted, Body()]
) -> Copied:
    """Copy live rows into the draft's database; values of private columns stay behind."""
    draft = _find(visit, name, slug)
    try:
        rows = await _drafts(visit, name).copy_rows(
            draft.slug, data.tables, limit=data.limit, masked=data.masked
        )
    except BbopsError as error:
        raise refuse(error) from None
    await visit.note("copy rows", object=f"{name} {draft.branch}: {', '.join(rows)}")
    return Copied(rows)


@page("/projects/{name:str}/drafts", Permission.READ_PROJECT)
async def show_drafts(visit: Here, name: FromPath[str], done: FromQuery[str] = "") -> Response[Any]:
    """Show the drafts, each with the button that opens it."""
    await _admit(visit, name)
    found = [(one, _make(visit, name, one, PAGE_HOURS)) for one in _drafts(visit, name).list()]
    said = "The draft was reset." if done == "renewed" else ""
    answer = visit.page("drafts", project=name, drafts=found, said=said)
    answer.headers["content-security-policy"] = _policy(found)
    return answer


@form("/projects/{name:str}/drafts/{slug:str}/renew", Permission.RENEW_DRAFT)
async def renew_by_page(visit: Here, name: FromPath[str], slug: FromPath[str]) -> Response[Any]:
    """Forget the draft's database."""
    draft = _find(visit, name, slug)
    await _drafts(visit, name).renew(draft.slug)
    await visit.note("renew draft", object=f"{name} {draft.branch}")
    return visit.go(f"/projects/{name}/drafts?done=renewed")


def _policy(found: list[tuple[DraftStatus, Preview]]) -> str:
    """Return the policy of a page whose forms lead to where the drafts answer."""
    parts = [urlsplit(one.url) for one, _ in found]
    origins = sorted({f"{part.scheme}://{part.netloc}" for part in parts})
    return POLICY.replace("form-action 'self'", " ".join(["form-action 'self'", *origins]))


def _make(visit: Visit, name: str, draft: DraftStatus, hours: int) -> Preview:
    expires = datetime.now(UTC) + timedelta(hours=hours)  # noqa: TID251 - the server's own clock
    key = _drafts(visit, name).key(draft.slug)
    token = make_token(key, expires.timestamp(), mark_of(visit.caller.person))
    return Preview(draft.url, token, expires)


async def _admit(visit: Visit, name: str) -> None:
    """Have the data processes know who asks, who may have their role since a moment ago."""
    if visit.control.admitting is not None:
        await visit.control.admitting.know(visit.caller.person, name)


def _find(visit: Visit, name: str, slug: str) -> DraftStatus:
    found = _drafts(visit, name).find(slug)
    if found is None:
        raise NotFoundException(f"project '{name}' has no draft '{slug}'")
    return found


def _drafts(visit: Visit, name: str) -> DraftSource:
    found = visit.control.status.drafts(name)
    if found is None:
        raise NotFoundException(f"there is no project '{name}'")
    return found


TAB = Tab(20, "Drafts", "/drafts")
ROUTES = (list_drafts, create_token, renew, allow_hosts, copy_rows, show_drafts, renew_by_page)
