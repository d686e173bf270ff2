"""A client for the API of a project."""

from __future__ import annotations

from typing import Any

import httpx

from bbops.base.addresses import check_address, is_here, is_https
from bbops.base.errors import ServerError
from bbops.interfaces.answers import ApiResponse

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


def reason_of(error: httpx.TransportError) -> str:
    """Return the reason why a server was not reached, as the system gives it."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror.lower()
        cause = cause.__cause__ or cause.__context__
    return str(error).lower() or type(error).__name__
