"""Webhooks of forges: each makes the server fetch a repository now.

The body is hashed and dropped: what is published comes from the repository alone, so a repeated or
late request does no harm, and the polls find what a lost one would have told.
"""

from __future__ import annotations

import logging
from typing import Final, Literal

import msgspec
from litestar import post
from litestar.exceptions import (
    ClientException,
    HTTPException,
    NotFoundException,
    ServiceUnavailableException,
)
from litestar.params import FromPath

from bbops.base.render import one_line
from bbops_server.control_plane.web.routes import HAS_OWN_AUTH
from bbops_server.control_plane.web.state import ControlState
from bbops_server.control_plane.web.visit import AnyRequest, Visit, too_many_attempts
from bbops_server.forges.hooks import HookScheme, find_schemes
from bbops_server.process.host.secrets import Secrets
from bbops_server.settings.repositories import ForgeBinding

MAX_BODY_BYTES: Final = 25 << 20
"""The limit of GitHub; the others send less."""
_log = logging.getLogger(__name__)


class HookReceipt(msgspec.Struct, frozen=True):
    """The result of a webhook: a fetch was requested, or the event brings no commits."""

    result: Literal["fetching", "ignored"]


@post(
    "/hooks/{name:str}", status_code=202, opt={HAS_OWN_AUTH: True}, include_in_schema=False,
    request_max_body_size=MAX_BODY_BYTES,
)  # fmt: skip
async def receive(request: AnyRequest, name: FromPath[str]) -> HookReceipt:
    """Accept the webhook of a project's forge, and fetch its repository at once.

    The signature in the headers must fit the body.
    """
    visit = Visit(request, request.app.state.control)
    control = visit.control
    if wait := control.limits.hooks.take(visit.network):
        headers = {"retry-after": str(wait)}
        raise HTTPException(too_many_attempts(wait).message, status_code=429, headers=headers)
    hook = next((each for each in control.settings.access.forges if each.project == name), None)
    if hook is None or not hook.secret_env:
        raise NotFoundException("there is no webhook at this address")
    scheme = find_schemes()[hook.kind]
    await _verify(visit, hook, scheme)
    control.limits.hooks.forget(visit.network)
    event = scheme.event_of(dict(request.headers))
    if event not in scheme.EVENTS:
        return HookReceipt("ignored")
    if not control.status.poll(name, lists_pulls=event in scheme.PULL_EVENTS):
        raise ServiceUnavailableException("the project is starting", headers={"retry-after": "5"})
    return HookReceipt("fetching")


async def _verify(visit: Visit, hook: ForgeBinding, scheme: HookScheme) -> None:
    """Check the signature of a request.

    Raises:
        ClientException: it does not fit the body.
        ServiceUnavailableException: its secret is not set.
    """
    secret = await visit.control.run(_read_secret, visit.control, hook)
    proof = scheme.proof_of(dict(visit.request.headers), secret)
    async for part in visit.request.stream():
        proof.update(part)
    if not proof.matches():
        _log.warning(
            "a webhook of project '%s' from %s has a wrong signature",
            hook.project, one_line(visit.address),
        )  # fmt: skip
        raise ClientException("the signature does not fit the body", status_code=401)


def _read_secret(control: ControlState, hook: ForgeBinding) -> str:
    name = hook.secret_env
    secret = Secrets(control.settings.state).find(name)
    if not secret:
        _log.warning(
            "a webhook of project '%s' was refused: variable '%s' has no value;"
            " 'bbops env set %s --of-server' sets it", hook.project, name, name,
        )  # fmt: skip
        raise ServiceUnavailableException("the secret of this webhook is not set on the server")
    return secret


ROUTES = (receive,)
