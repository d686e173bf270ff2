"""The API contract of a project: OpenAPI, AsyncAPI, JSON, Markdown, and typed clients."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from litestar import Response
from litestar.exceptions import NotFoundException
from litestar.params import FromPath, QueryParameter

from bbops.base.errors import BbopsError
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.routes import read
from bbops_server.control_plane.web.visit import Here, Visit
from bbops_server.process.messages.builds import WrittenContract

Form = Annotated[
    Literal["openapi", "asyncapi", "json", "markdown", "typescript", "python"],
    QueryParameter(name="format"),
]


@read("/api/projects/{name:str}/contract", Permission.READ_PROJECT)
async def read_contract(
    visit: Here, name: FromPath[str], form: Form = "openapi"
) -> Response[Any]:  # fmt: skip
    """The contract of the live release, in a format."""
    return _answer(await find_live(visit, name, form))


@read("/api/projects/{name:str}/drafts/{slug:str}/contract", Permission.READ_PROJECT)
async def read_draft_contract(
    visit: Here, name: FromPath[str], slug: FromPath[str], form: Form = "openapi"
) -> Response[Any]:
    """The contract of the newest commit of a draft, in a format."""
    return _answer(await find_draft(visit, name, slug, form))


async def find_live(visit: Visit, name: str, form: str) -> WrittenContract:
    """Return the contract of the live release. Raises: HTTPException: it cannot be rendered."""
    try:
        contract = await visit.control.status.contract(name, form)
    except BbopsError as error:
        raise refuse(error) from None
    if contract is None:
        raise NotFoundException(f"there is no project '{name}'")
    return contract


async def find_draft(visit: Visit, name: str, slug: str, form: str) -> WrittenContract:
    """Return the contract of a draft's newest commit. Raises: HTTPException: it has none."""
    drafts = visit.control.status.drafts(name)
    if drafts is None:
        raise NotFoundException(f"there is no project '{name}'")
    draft = drafts.find(slug)
    if draft is None:
        raise NotFoundException(f"project '{name}' has no draft '{slug}'")
    try:
        return await drafts.contract(draft.slug, form)
    except BbopsError as error:
        raise refuse(error) from None


def _answer(contract: WrittenContract) -> Response[Any]:
    headers = {"etag": f'"{contract.digest}"'}
    return Response(contract.text.encode(), media_type=contract.content_type, headers=headers)


ROUTES = (read_contract, read_draft_contract)
