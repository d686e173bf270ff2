"""Exchange the identity token of a workflow for a token of its project.

The route ignores cookies: the identity token alone authenticates its request.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from litestar import post
from litestar.exceptions import (
    HTTPException,
    PermissionDeniedException,
    ServiceUnavailableException,
)
from litestar.params import Body

from bbops.base.render import one_line
from bbops.interfaces.answers import WorkflowToken
from bbops_server.accounts.ci_tokens import IssuedCiToken, WorkflowRun
from bbops_server.accounts.text_rules import AccountError
from bbops_server.control_plane.ci import github, gitlab
from bbops_server.control_plane.ci.identity import CiIdentity, RejectedClaim
from bbops_server.control_plane.ci.matching import SeveralProjects, find_trust
from bbops_server.control_plane.external_sign_in.issuers import FAILURE_SECONDS
from bbops_server.control_plane.web.routes import HAS_OWN_AUTH
from bbops_server.control_plane.web.visit import AnyRequest, Visit, too_many_attempts, unauthorized
from bbops_server.settings.repositories import CiTrust

if TYPE_CHECKING:
    from bbops_server.control_plane.ci.verifying import VerifiedToken

MAX_BODY_BYTES: Final = 16 << 10
NO_TRUST: Final = (
    "no project of this server trusts a workflow: list it under 'ci' of the project in server.yaml;"
    " a server of one repository needs a server.yaml with that project"
)
ACTION: Final = "issue a token for a workflow"
_READERS: Final = {"github": github.read, "gitlab": gitlab.read}
_log = logging.getLogger(__name__)


class TokenExchange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An identity token; `project` is needed if several projects trust the workflow."""

    token: str
    project: str = ""

    def __repr__(self) -> str:
        return f"TokenExchange(project={self.project!r})"


@post(
    "/api/ci/token", status_code=200, opt={HAS_OWN_AUTH: True},
    request_max_body_size=MAX_BODY_BYTES,
)  # fmt: skip
async def exchange(
    request: AnyRequest, data: Annotated[TokenExchange, Body()]
) -> WorkflowToken:  # fmt: skip
    """Exchange a workflow's identity token for a token of ten minutes.

    The token can publish the newest commit of one project, and read its status and drafts.
    """
    visit = Visit(request, request.app.state.control)
    wait = visit.control.limits.workflows.take(visit.network)
    if wait:
        headers = {"retry-after": str(wait)}
        raise HTTPException(too_many_attempts(wait).message, status_code=429, headers=headers)
    if not visit.control.settings.access.trusts:
        raise PermissionDeniedException(NO_TRUST)
    trust, run, issued = await _exchange(visit, data)
    visit.control.limits.workflows.forget(visit.network)
    await visit.note(ACTION, object=f"{trust.project} {run} as {issued.id}", who=run.label)
    return WorkflowToken(issued.key, issued.expires, trust.project)


async def _exchange(
    visit: Visit, data: TokenExchange
) -> tuple[CiTrust, WorkflowRun, IssuedCiToken]:
    """Return a new token with its trust and run.

    Raises:
        HTTPException: the identity token is rejected; the reason is in the log.
    """
    from bbops_server.control_plane.ci.verifying import UntrustedToken  # noqa: PLC0415 - slow

    try:
        return await _issue(visit, data)
    except UntrustedToken as error:
        await _record(visit, str(error))
        raise unauthorized("the identity token is not valid here") from None
    except RejectedClaim as error:
        await _record(visit, error.record)
        raise PermissionDeniedException(error.message) from None
    except SeveralProjects as error:
        await _record(visit, str(error))
        raise PermissionDeniedException(str(error)) from None
    except AccountError as error:
        await _record(visit, error.message)
        message = "the keys of the issuer cannot be read now"
        headers = {"retry-after": f"{FAILURE_SECONDS:.0f}"}
        raise ServiceUnavailableException(message, headers=headers) from None


async def _issue(visit: Visit, data: TokenExchange) -> tuple[CiTrust, WorkflowRun, IssuedCiToken]:
    from bbops_server.control_plane.ci.verifying import verify  # noqa: PLC0415 - slow

    control, trusts = visit.control, visit.control.settings.access.trusts
    issuers, now = {trust.issuer for trust in trusts}, visit.book.ci_tokens.now()
    verified = await verify(data.token, control.issuers, issuers, control.settings.control_url, now)
    try:
        of_issuer = [trust for trust in trusts if trust.issuer == verified.issuer]
        identity = _READERS[of_issuer[0].kind](verified.claims)
        trust = find_trust(identity, [
            trust for trust in of_issuer if data.project in {"", trust.project}
        ])  # fmt: skip
        return await _bind(visit, verified, trust, identity)
    except RejectedClaim as error:
        raise error.of(verified.claims.get("sub")) from None


async def _bind(
    visit: Visit, verified: VerifiedToken, trust: CiTrust, identity: CiIdentity
) -> tuple[CiTrust, WorkflowRun, IssuedCiToken]:
    run = WorkflowRun(identity.repository, identity.ref, identity.sha, identity.run, identity.actor)
    issued = await visit.control.run(
        visit.book.ci_tokens.issue, trust, run,
        assertion=verified.assertion, until=verified.until,
    )  # fmt: skip
    if issued is None:
        found = verified.claims.get("jti", "")
        raise RejectedClaim("jti", found, "which was used before: get a new identity token")
    return trust, run, issued


async def _record(visit: Visit, reason: str) -> None:
    _log.warning("no token for a workflow from %s: %s", visit.address, one_line(reason))
    await visit.note(ACTION, object=one_line(reason), outcome="refused")


ROUTES = (exchange,)
