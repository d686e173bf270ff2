"""The HTTP header for git over HTTPS, from the credential of a project's forge."""

from __future__ import annotations

from base64 import b64encode

from bbops_server.forges.hosted import HostedForge
from bbops_server.publish.sources.remote import Authorize


def make_authorize(forge: HostedForge) -> Authorize:
    """Return the function that returns the header; its credential may change with each call."""

    async def authorize() -> str:
        credential = await forge.git_credential()
        pair = f"{credential.user}:{credential.password}".encode()
        return f"Authorization: Basic {b64encode(pair).decode()}"

    return authorize
