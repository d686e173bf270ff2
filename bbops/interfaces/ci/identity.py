"""The identity token of a job: a statement, signed by the CI service, about the run.

GitHub and Forgejo issue one on request; GitLab puts it into a variable.
Source: docs.github.com, "OpenID Connect reference"; docs.gitlab.com, "ID token authentication".
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from bbops.base.addresses import is_here, split
from bbops.base.errors import BbopsError, ServerAway
from bbops.base.host import HttpRequest, HttpResponse
from bbops.interfaces.ci.run import CiRun
from bbops.interfaces.client.external import ExternalClient
from bbops.runtime.values.failures import HttpFailure

REQUEST_URL: Final = "ACTIONS_ID_TOKEN_REQUEST_URL"
REQUEST_TOKEN: Final = "ACTIONS_ID_TOKEN_REQUEST_TOKEN"  # noqa: S105 - the name of a variable
VARIABLE: Final = "BBOPS_ID_TOKEN"
_SECONDS: Final = 20.0
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+").fullmatch
_FIXES: Final = {
    "github": "add 'permissions: {contents: read, id-token: write}' to the job",
    "forgejo": "add 'enable-openid-connect: true' to the job",
    "gitea": "put a token of the server into the variable BBOPS_TOKEN, as a secret",
    "gitlab": "add 'id_tokens: {BBOPS_ID_TOKEN: {aud: URL}}' to the job, with the server's URL",
}


def read_identity(run: CiRun, env: Mapping[str, str], audience: str) -> str:
    """Return an identity token of the job.

    Args:
        run: the run of the job.
        env: the variables of the job.
        audience: the address of the control plane, which has to accept the token.

    Raises:
        BbopsError: the job may not have one; the hint names the missing permission.
        ServerAway: the CI service does not respond now.
    """
    if env.get(REQUEST_URL) and env.get(REQUEST_TOKEN):
        return asyncio.run(_request(env[REQUEST_URL], env[REQUEST_TOKEN], audience))
    if token := env.get(VARIABLE, "").strip():
        return _check(token, f"the value of {VARIABLE}")
    fix = _FIXES.get(run.forge, "put a token of the server into the variable BBOPS_TOKEN")
    raise BbopsError("this job has neither an identity token nor BBOPS_TOKEN", hint=fix)


def can_renew(env: Mapping[str, str]) -> bool:
    """Return whether the CI service issues another identity token for the same job."""
    return bool(env.get(REQUEST_URL) and env.get(REQUEST_TOKEN))


def mask(run: CiRun, secret: str) -> str:
    """Return the command that hides a secret in the log of a job; empty without such commands."""
    return f"::add-mask::{secret}" if run.has_commands else ""


async def _request(url: str, key: str, audience: str) -> str:
    parts = split(url)
    is_guarded = parts is not None and (parts.scheme == "https" or is_here(url))
    if parts is None or not is_guarded:
        raise BbopsError(f"{REQUEST_URL} is not an https address", hint="the runner sets it")
    address = f"{url}{'&' if parts.query else '?'}audience={quote(audience, safe='')}"
    headers = {"authorization": f"Bearer {key}", "accept": "application/json"}
    client = ExternalClient()
    try:
        response = await client.send(HttpRequest("GET", address, headers, b"", _SECONDS))
    except (HttpFailure, ValueError, UnicodeError):
        raise ServerAway(f"the CI service at '{parts.hostname}' does not respond") from None
    finally:
        await client.close()
    return _read(response, str(parts.hostname))


def _read(response: HttpResponse, host: str) -> str:
    if response.status in {401, 403}:
        raise BbopsError(
            f"the CI service at '{host}' gives this job no identity token: {response.status}",
            hint=_FIXES["github"],
        )
    if response.status != 200:
        raise ServerAway(f"the CI service at '{host}' answered {response.status}")
    try:
        value: Any = json.loads(response.body)
    except (ValueError, RecursionError):
        value = None
    token = value.get("value") if isinstance(value, dict) else None
    return _check(token if isinstance(token, str) else "", f"the response of '{host}'")


def _check(token: str, source: str) -> str:
    if not _TOKEN(token):
        raise BbopsError(f"{source} is not an identity token")
    return token
