"""Send requests to the control plane of a server, and decode the responses."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote

import httpx
import msgspec

from bbops.base.addresses import check_address, is_here, is_https
from bbops.base.diagnostics import suggest
from bbops.base.errors import ServerAway, ServerError, TokenRejected
from bbops.interfaces.answers import ApiResponse, ProjectLine, error_text

# ---- A client for the API of a project

TIMEOUT_SECONDS = 10.0


class ProjectApi:
    """A client for the API of a project."""

    def __init__(self, url: str) -> None:
        self._url = check_address(url)
        self._client = httpx.Client(
            timeout=TIMEOUT_SECONDS, trust_env=not is_here(self._url), verify=is_https(self._url)
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def ask(
        self, method: str, path: str, body: Any = None, *, token: str | None = None
    ) -> ApiResponse:
        """Send one request with a JSON body.

        Raises:
            ServerError: the API cannot be reached.
        """
        headers = {"authorization": f"Bearer {token}"} if token else {}
        try:
            response = self._client.request(method, self._url + path, json=body, headers=headers)
        except httpx.TransportError as error:
            raise ServerError(f"cannot reach '{self._url}': {reason_of(error)}") from None
        value = response.json() if response.content else None
        return ApiResponse(response.status_code, response.headers.get("x-release", ""), value)


T = TypeVar("T")

_RELEASE = "x-release"
"""A header of every response of a project's API."""

_AWAY = frozenset({429, 500, 502, 503, 504})
"""Statuses after which a later request may succeed, also of a proxy."""

_WHERE = "'bbops serve' prints the address of its control plane, port 8001 by default"


def require_https(url: str) -> None:
    """Raises: ServerError: a token sent to this address could be read on its way."""
    if url.startswith("http:") and not is_here(url):
        raise ServerError(
            f"a token is not sent to '{url}' without https", hint="use its https address"
        )


def write_query(parameters: Mapping[str, Any]) -> str:
    """Return the query string of a URL."""
    return str(httpx.QueryParams(parameters))


class ServerConnection:
    """A connection to the control plane of a server. Use it in a `with` block, or close it."""

    def __init__(self, control_url: str, token: str = "") -> None:
        """Raises: ServerError: the URL is not valid, or the token would be sent without https."""
        self._url, self._has_token = check_address(control_url), bool(token)
        if token:
            require_https(self._url)
        headers = {"authorization": f"Bearer {token}"} if token else {}
        # Requests to this machine must not go through a proxy.
        self._client = httpx.Client(
            timeout=TIMEOUT_SECONDS,
            trust_env=not is_here(self._url),
            headers=headers,
            verify=is_https(self._url),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def projects(self) -> list[ProjectLine]:
        """Return the projects of the server.

        Raises:
            ServerError: the server cannot be reached, or its response is not valid, as for all
                calls.
        """
        return self._read(self._request("GET", "/api/projects"), list[ProjectLine])

    def of_project(
        self, name: str, method: str, path: str, kind: type[T], body: Any = None,
        seconds: float = TIMEOUT_SECONDS,
    ) -> T:  # fmt: skip
        """Send a request about a project, and return the response. Raises as `status`."""
        return self._read(self._request_project(method, name, path, body, seconds), kind)

    def of_server(
        self, method: str, path: str, kind: type[T], body: Any = None,
        seconds: float = TIMEOUT_SECONDS,
    ) -> T:  # fmt: skip
        """Send a request about the server itself, and return the response. Raises as `projects`."""
        return self._read(self._request(method, f"/api/{path}", body, seconds), kind)

    def _request_project(
        self, method: str, name: str, subject: str, body: Any = None,
        seconds: float = TIMEOUT_SECONDS,
    ) -> httpx.Response:  # fmt: skip
        path = f"/api/projects/{quote(name, safe='')}/{subject}"
        response = self._request(method, path, body, seconds)
        if response.status_code == httpx.codes.NOT_FOUND:
            raise self._missing(name, response)
        return response

    def _request(
        self, method: str, path: str, body: Any = None, seconds: float = TIMEOUT_SECONDS
    ) -> httpx.Response:
        return self._send(method, path, seconds=seconds, json=body)

    def _send(self, method: str, path: str, *, seconds: float, **body: Any) -> httpx.Response:
        try:
            return self._client.request(method, self._url + path, timeout=seconds, **body)
        except httpx.TimeoutException:
            message = f"'{self._url}' did not answer within {seconds:g} seconds"
            raise ServerAway(message) from None
        except httpx.TransportError as error:
            raise ServerAway(
                f"cannot reach a server at '{self._url}': {reason_of(error)}",
                hint="is 'bbops serve' running? choose another server with --server URL",
            ) from None

    def _read(self, response: httpx.Response, kind: type[T]) -> T:
        self._require_success(response)
        try:
            return msgspec.json.decode(response.content, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise self._describe_failure(response) from None

    def _require_success(self, response: httpx.Response) -> None:
        if not response.is_success:
            raise self._describe_failure(response)

    def _describe_failure(self, response: httpx.Response) -> ServerError:
        reason, server = error_text(response.content), f"'{self._url}'"
        if reason and response.status_code == httpx.codes.UNAUTHORIZED:
            rejected = f"{server} rejected the token: it has expired or was revoked"
            message = rejected if self._has_token else f"you are not signed in to {server}"
            return TokenRejected(message, hint=f"sign in with 'bbops login {self._url}'")
        if _RELEASE in response.headers:
            return ServerError(f"the server at {server} is a project's API", hint=_WHERE)
        if reason:
            kind = ServerAway if response.status_code in _AWAY else ServerError
            return kind(f"the server at {server} refused: {reason}")
        if response.status_code in _AWAY:
            return ServerAway(f"the server at {server} answered {response.status_code}")
        return ServerError(f"the server at {server} is not a bbops control plane", hint=_WHERE)

    def _missing(self, name: str, response: httpx.Response) -> ServerError:
        """Return the error for a 404, which a project or a part of the API causes."""
        try:
            names = [line.name for line in self.projects()]
        except ServerError:  # the token of a workflow cannot list projects
            return ServerError(f"the server at '{self._url}' has no project '{name}'")
        if name in names:
            reason = error_text(response.content) or "it has no such address"
            return ServerError(f"the server at '{self._url}' refused: {reason}")
        hint = suggest(name, names) or (f"it has {', '.join(names)}" if names else "it has none")
        return ServerError(f"the server at '{self._url}' has no project '{name}'", hint=hint)


def reason_of(error: httpx.TransportError) -> str:
    """Return the reason why a server was not reached, as the system gives it."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror.lower()
        cause = cause.__cause__ or cause.__context__
    return str(error).lower() or type(error).__name__
