"""The creation of a GitHub App from a manifest: a page on loopback, and the App's answer.

Source: docs.github.com, "Registering a GitHub App from a manifest".
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from http.server import BaseHTTPRequestHandler, HTTPServer
from time import monotonic
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import msgspec

from bbops.base.errors import ServerError
from bbops_server.forges.api import ForgeApi, decode
from bbops_server.forges.github import EVENTS
from bbops_server.forges.on_github.repository import HEADERS, find_api
from bbops_server.forges.on_github.rights import APP_RIGHTS
from bbops_server.process.host.egress import EgressPolicy

WAIT_SECONDS: Final = 900.0
_PAGE: Final = """<!doctype html><html lang="en"><meta charset="utf-8"><title>GitHub App</title>
<h1>Create the GitHub App of '{project}'</h1>
<p>The button opens {url}, which shows the App's rights before it is created.</p>
<form action="{action}" method="post"><input type="hidden" name="manifest" value="{manifest}">
<button>Create the App</button></form></html>"""
_DONE: Final = """<!doctype html><html lang="en"><meta charset="utf-8"><title>GitHub App</title>
<p>The App is created. Close this page, and continue in the terminal.</p></html>"""


class CreatedApp(msgspec.Struct, frozen=True):
    """A new App; its secrets are shown nowhere."""

    id: int
    slug: str
    html_url: str
    pem: str
    webhook_secret: str | None = None

    def __repr__(self) -> str:
        return f"CreatedApp({self.id}, {self.slug!r})"


@dataclass(frozen=True, slots=True)
class AppRequest:
    """The App to create.

    Attributes:
        url: the address of GitHub.
        organization: its owner; empty for the user in the browser.
        hook_address: the address of its webhook; empty without one.
        home: the page of the server, which GitHub shows.
    """

    project: str
    url: str
    organization: str
    hook_address: str
    home: str

    def manifest(self, redirect: str) -> str:
        """Return the manifest in JSON."""
        hook = {"url": self.hook_address or self.home, "active": bool(self.hook_address)}
        permissions = dict(right.split(": ") for right in APP_RIGHTS)
        return json.dumps({
            "name": f"bbops {self.project} {secrets.token_hex(3)}", "url": self.home,
            "hook_attributes": hook, "redirect_url": redirect, "public": False,
            "default_permissions": permissions, "default_events": sorted(EVENTS),
        })  # fmt: skip

    def action(self, state: str) -> str:
        """Return the address that the manifest is posted to."""
        owner = f"organizations/{self.organization}/" if self.organization else ""
        return f"{self.url}/{owner}settings/apps/new?state={state}"


class ManifestServer(HTTPServer):
    """Serves the page on loopback, and waits for the code of the App.

    Attributes:
        code: the code; empty until the browser has brought it.
    """

    def __init__(self, request: AppRequest) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.request, self.state, self.code = request, secrets.token_urlsafe(32), ""
        self.host = f"127.0.0.1:{self.server_address[1]}"
        self.timeout = 1.0

    @property
    def page(self) -> str:
        """The address of the page."""
        return f"http://{self.host}/"

    def wait(self) -> str:
        """Return the code. Raises: ServerError: the browser did not bring it in time."""
        end = monotonic() + WAIT_SECONDS
        while not self.code:
            if monotonic() > end:
                raise ServerError("the App was not created in time", hint="start again")
            self.handle_request()
        return self.code

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore browsers that close the connection."""

    def render(self) -> str:
        """Return the page."""
        request = self.request
        texts = {
            "project": request.project, "url": request.url, "action": request.action(self.state),
            "manifest": request.manifest(f"{self.page}created"),
        }  # fmt: skip
        return _PAGE.format(**{name: escape(text) for name, text in texts.items()})

    def accept(self, query: str) -> bool:
        """Take the code of a redirect; return whether its state is the page's."""
        values = parse_qs(query)
        state, code = values.get("state", [""])[0], values.get("code", [""])[0]
        if not code.isalnum() or not hmac.compare_digest(state.encode(), self.state.encode()):
            return False
        self.code = code
        return True


class _Handler(BaseHTTPRequestHandler):
    server: ManifestServer
    timeout = 10

    def do_GET(self) -> None:
        """Answer the page and the redirect, for this address alone."""
        parts = urlsplit(self.path)
        if self.headers.get("host") != self.server.host:
            self._answer(421, "this page has another address")
        elif parts.path == "/":
            self._answer(200, self.server.render())
        elif parts.path == "/created" and self.server.accept(parts.query):
            self._answer(200, _DONE)
        else:
            self._answer(404, "there is no such page")

    def _answer(self, status: int, text: str) -> None:
        data = text.encode()
        headers = {
            "content-type": "text/html; charset=utf-8", "content-length": str(len(data)),
            "cache-control": "no-store", "referrer-policy": "no-referrer",
            "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
        }  # fmt: skip
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Print nothing: addresses contain the code."""


class _NoCredential:
    async def headers(self) -> Mapping[str, str]:
        return {}

    def renew(self) -> bool:
        return False


async def convert(url: str, code: str, egress: EgressPolicy) -> CreatedApp:
    """Return the App of a code, which is valid once and for an hour.

    Raises:
        ForgeError: GitHub does not know the code, or cannot be reached.
    """
    api = ForgeApi(find_api(url), _NoCredential(), egress, headers=HEADERS)
    try:
        return decode(await api.send("POST", f"/app-manifests/{code}/conversions"), CreatedApp)
    finally:
        await api.aclose()
