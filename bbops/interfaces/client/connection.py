"""Speak with the control plane of one server: all of it, and nothing of what is asked."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote

import httpx
import msgspec

from bbops.base.addresses import check_address, is_here, is_https
from bbops.base.diagnostics import suggest
from bbops.base.errors import ServerError
from bbops.interfaces.answers import ProjectLine, error_text
from bbops.interfaces.client.project_api import TIMEOUT_SECONDS, reason_of

T = TypeVar("T")

_RELEASE = "x-release"
"""A header of every answer of a project's API."""
_WHERE = "'bbops serve' prints the address of its control plane, port 8001 by default"


def write_query(given: Mapping[str, Any]) -> str:
    """Return what stands behind the question mark of an address."""
    return str(httpx.QueryParams(given))


class Connection:
    """The control plane of one server. Use it in a `with` block, or close it."""

    def __init__(self, control_url: str, token: str = "") -> None:
        """Raises: ServerError: this is no address, or the token would be sent without https."""
        self._url, self._has_token = check_address(control_url), bool(token)
        if token and self._url.startswith("http:") and not is_here(self._url):
            raise ServerError(
                f"a token is not sent to '{self._url}' without https",
                hint="use its https address",
            )
        headers = {"authorization": f"Bearer {token}"} if token else {}
        # A proxy for the internet must not be asked for this machine's own addresses.
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
        """Return the projects this server runs.

        Raises:
            ServerError: it cannot be reached or gives another answer, as for all calls.
        """
        return self._read(self._ask("GET", "/api/projects"), list[ProjectLine])

    def of_project(
        self, name: str, method: str, path: str, kind: type[T], body: Any = None,
        seconds: float = TIMEOUT_SECONDS,
    ) -> T:  # fmt: skip
        """Return what a server answers about something of a project. Raises as `status`."""
        return self._read(self._ask_about(method, name, path, body, seconds), kind)

    def of_server(
        self, method: str, path: str, kind: type[T], body: Any = None,
        seconds: float = TIMEOUT_SECONDS,
    ) -> T:  # fmt: skip
        """Return what a server answers about something of its own. Raises as `projects`."""
        return self._read(self._ask(method, f"/api/{path}", body, seconds), kind)

    def _ask_about(
        self, method: str, name: str, what: str, body: Any = None,
        seconds: float = TIMEOUT_SECONDS,
    ) -> httpx.Response:  # fmt: skip
        path = f"/api/projects/{quote(name, safe='')}/{what}"
        answer = self._ask(method, path, body, seconds)
        if answer.status_code == httpx.codes.NOT_FOUND:
            raise self._missing(name)
        return answer

    def _ask(
        self, method: str, path: str, body: Any = None, seconds: float = TIMEOUT_SECONDS
    ) -> httpx.Response:
        return self._send(method, path, seconds=seconds, json=body)

    def _send(self, method: str, path: str, *, seconds: float, **body: Any) -> httpx.Response:
        try:
            return self._client.request(method, self._url + path, timeout=seconds, **body)
        except httpx.TimeoutException:
            message = f"'{self._url}' did not answer within {seconds:g} seconds"
            raise ServerError(message) from None
        except httpx.TransportError as error:
            raise ServerError(
                f"cannot reach a server at '{self._url}': {reason_of(error)}",
                hint="is 'bbops serve' running? choose another server with --server URL",
            ) from None

    def _read(self, answer: httpx.Response, wanted: type[T]) -> T:
        self._demand(answer)
        try:
            return msgspec.json.decode(answer.content, type=wanted)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise self._odd(answer) from None

    def _demand(self, answer: httpx.Response) -> None:
        if not answer.is_success:
            raise self._odd(answer)

    def _odd(self, answer: httpx.Response) -> ServerError:
        said = error_text(answer.content)
        if said and answer.status_code == httpx.codes.UNAUTHORIZED:
            at = f"'{self._url}'"
            what = f"{at} refused the token: it has expired or was revoked"
            message = what if self._has_token else f"you are not signed in to {at}"
            return ServerError(message, hint=f"sign in with 'bbops login {self._url}'")
        if _RELEASE in answer.headers:
            return ServerError(f"what answers at '{self._url}' is a project's API", hint=_WHERE)
        if said:
            return ServerError(f"the server at '{self._url}' refused: {said}")
        return ServerError(
            f"what answers at '{self._url}' is not a bbops control plane",
            hint=_WHERE,
        )

    def _missing(self, name: str) -> ServerError:
        names = [one.name for one in self.projects()]
        hint = suggest(name, names) or (f"it has {', '.join(names)}" if names else "it has none")
        return ServerError(f"the server at '{self._url}' has no project '{name}'", hint=hint)
