"""A control plane that trusts an issuer on loopback, and requests for tokens of workflows."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import httpx
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from bbops_server.settings import Access
from bbops_server.settings.repositories import CiTrust
from tests.support.ci_issuer import MAIN, OWNER, REPOSITORY, CiIssuer
from tests.support.control import URL, Tried
from tests.support.signing_keys import rsa_key


class Exchange:
    """Exchanges identity tokens of `issuer` at `control`, which trusts them for `small`."""

    def __init__(self, control: Tried, issuer: CiIssuer) -> None:
        self.control, self.issuer = control, issuer
        self.trust(self.of("small"))

    def of(self, project: str, **changes: Any) -> CiTrust:
        """Return a trust in the repository and main."""
        ids = str(REPOSITORY), str(OWNER)
        return replace(CiTrust(project, "github", self.issuer.url, *ids, MAIN), **changes)

    def trust(self, *trusts: CiTrust) -> None:
        """Replace the trusts in the settings."""
        self.control.settings = replace(self.control.settings, access=Access(trusts=trusts))

    def ask(self, token: str | None = None, project: str = "", **claims: Any) -> httpx.Response:
        """Exchange a token, by default of a push to main with changed claims."""
        given = self.issuer.sign(self.issuer.github(URL, **claims)) if token is None else token
        return self.control.browser().call(
            "POST", "/api/ci/token", json={"token": given, "project": project}
        )

    def ask_at_once(self, tokens: Sequence[str]) -> list[httpx.Response]:
        """Exchange tokens concurrently."""

        async def ask() -> list[httpx.Response]:
            transport = httpx.ASGITransport(self.control.app)  # type: ignore[arg-type]
            async with httpx.AsyncClient(transport=transport, base_url=URL) as client:
                calls = (client.post("/api/ci/token", json={"token": each}) for each in tokens)
                return await asyncio.gather(*calls)

        return self.control._runner.run(ask())

    def issue(self, **claims: Any) -> dict[str, str]:
        """Return the Authorization header with a new token."""
        answer = self.ask(**claims)
        assert answer.status_code == 200, answer.text
        return {"authorization": f"Bearer {answer.json()['token']}"}

    def status(self, headers: dict[str, str], project: str = "small") -> int:
        """Return the response's status to a request for the project's status."""
        path = f"/api/projects/{project}/status"
        return self.control.browser().call("GET", path, headers=headers).status_code

    def audit(self) -> list[tuple[str, str]]:
        """Return the object and the outcome of each audit entry, oldest first."""
        return [(each.object, each.outcome) for each in reversed(self.control.book.audit.list())]


def message(answer: httpx.Response) -> str:
    """Return the message of an error."""
    return str(answer.json()["error"]["message"])


def sign_by_hand(claims: dict[str, Any], header: dict[str, Any], key: bytes | None) -> str:
    """Return a token with any header: without a signature, or with HMAC-SHA256."""
    parts = [_encode(json.dumps(part).encode()) for part in (header, claims)]
    signed = ".".join(parts)
    mac = b"" if key is None else hmac.new(key, signed.encode(), hashlib.sha256).digest()
    return f"{signed}.{_encode(mac)}"


def public_pem() -> bytes:
    """Return the issuer's public key, as an attacker has it."""
    return rsa_key().public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
