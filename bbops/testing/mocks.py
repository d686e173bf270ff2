"""What answers in place of the world outside: the mocks of a test, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from bbops.host import HttpRequest, HttpResponse
from bbops.runtime.addons import AddonFailure
from bbops.runtime.failures import HttpFailure


class Mocks:
    """The door `addons` of a test's host.

    Attributes:
        calls: the parameters of each call, by step.
        missing: calls that no mock answers; each of them fails the case, even where it is caught.
    """

    def __init__(self, results: Mapping[str, Any]) -> None:
        self.results = results
        self.calls: dict[str, list[Any]] = {name: [] for name in results}
        self.missing: list[str] = []

    async def call(self, step: str, parameters: Mapping[str, Any]) -> Any:
        """Answer a step as its mock says.

        Raises:
            AddonFailure: it has none, or its mock is an error.
        """
        if step not in self.results:
            self.missing.append(step)
            raise AddonFailure("not-mocked", f"'{step}' is not mocked")
        self.calls[step].append(dict(parameters))
        return answer_of(step, self.results[step])

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Answer the step `http` as the mock of its address says, with or without the query.

        Raises:
            HttpFailure: it has none, or its mock is an error.
        """
        name = request.url if request.url in self.results else request.url.partition("?")[0]
        if name not in self.results:
            self.missing.append(name)
            raise HttpFailure("not-mocked", f"'{name}' is not mocked")
        told = {"method": request.method, "url": request.url, "headers": dict(request.headers)}
        self.calls[name].append(told | {"body": _sent(request)})
        result = self.results[name]
        if isinstance(result, dict) and result.keys() == {"error"}:
            error = result["error"] if isinstance(result["error"], dict) else {}
            answered = error.get("status")
            message = str(error.get("message") or f"'{name}' failed")
            raise HttpFailure("httpFailed", message, answered=answered)
        whole = result if isinstance(result, dict) and "status" in result else {"body": result}
        headers = {"content-type": "application/json", **whole.get("headers", {})}
        body = b"" if whole.get("body") is None else msgspec.json.encode(whole["body"])
        return HttpResponse(whole.get("status", 200), headers, body)


def _sent(request: HttpRequest) -> Any:
    """Return a body as its JSON, or as text."""
    try:
        return msgspec.json.decode(request.body) if request.body else None
    except msgspec.DecodeError:
        return request.body.decode(errors="replace")


def answer_of(name: str, result: Any) -> Any:
    """Return the result of a mock.

    Raises:
        AddonFailure: it is `{ error: { status, message } }`.
    """
    if (
        isinstance(result, dict)
        and result.keys() == {"error"}
        and isinstance(result["error"], dict)
    ):
        told = result["error"]
        raise AddonFailure("mocked-error", str(told.get("message") or f"'{name}' failed"))
    return result
