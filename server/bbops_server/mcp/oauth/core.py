"""The core of the authorization server: its clients, its addresses, and Authlib."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import msgspec
from authlib.oauth2 import AuthorizationServer

from bbops_server.accounts.book import Book
from bbops_server.accounts.grants import Approval
from bbops_server.accounts.rules import GrantScope, complete
from bbops_server.mcp.oauth import granting
from bbops_server.mcp.oauth.authlib_request import Answer, OAuthRequest
from bbops_server.mcp.oauth.client import Client, Metadata
from bbops_server.mcp.oauth.endpoints import Endpoints
from bbops_server.mcp.oauth.granting import InvalidTarget
from bbops_server.settings import Settings


class Core(AuthorizationServer):
    """An authorization server: Authlib checks requests, and the book stores the results."""

    def __init__(self, book: Book, settings: Callable[[], Settings]) -> None:
        """`settings` returns the current settings."""
        super().__init__()
        logging.getLogger("authlib").setLevel(logging.INFO)  # below, it writes whole tokens
        self.book, self._settings = book, settings
        self.register_token_generator("default", granting.make_answer)
        for grant, extensions in granting.ALL:
            self.register_grant(grant, extensions)

    @property
    def settings(self) -> Settings:
        """The current settings."""
        return self._settings()

    @property
    def endpoints(self) -> Endpoints:
        """The addresses of its parts."""
        return Endpoints(self.settings.control_url)

    def read_wish(self, asked: OAuthRequest, client: Client, scope: str) -> Approval:
        """Return the access that a client requests, from the known scopes of its request.

        Raises:
            InvalidTarget: the resource does not belong to this server.
        """
        resource, project = self._find_resource(asked)
        scopes = complete(map(GrantScope, scope.split()))
        return Approval(client.id, client.name, scopes, resource, project)

    def _find_resource(self, asked: OAuthRequest) -> tuple[str, str]:
        """Return the resource of the requested tokens, and its project.

        Raises:
            InvalidTarget: the resource does not belong to this server.
        """
        ours = self.endpoints.mcp
        named = {uri.rstrip("/") for uri in asked.payload.datalist["resource"]} or {ours}
        resource = named.pop()
        if named:
            raise InvalidTarget("a token is valid for one resource only")
        if resource == ours:
            return resource, ""
        key = resource.removeprefix(f"{ours}/p/")
        project = self.book.addresses.project(key) if key != resource else None
        if project is None:
            raise InvalidTarget("this resource does not belong to this server")
        return resource, project

    # ---- the interface that Authlib requires
    def query_client(self, client_id: str) -> Client | None:
        """Return a client by its id."""
        found = self.book.clients.find(client_id)
        if found is None:
            return None
        return Client(client_id, msgspec.json.decode(found.metadata, type=Metadata))

    def create_oauth2_request(self, request: OAuthRequest) -> OAuthRequest:
        """Return the request."""
        return request

    def handle_response(self, status: int, body: Any, headers: Any) -> Answer:
        """Return the response of Authlib."""
        return Answer(status, body, dict(headers))

    def send_signal(self, *_: Any, **__: Any) -> None:
        """Do nothing: there are no receivers."""
