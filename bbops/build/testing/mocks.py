"""What answers in place of the world outside: the mocks of a test, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from bbops.base.host import HttpRequest, HttpResponse
from bbops.runtime.steps.addons import AddonFailure
from bbops.runtime.values.failures import HttpFailure


class Mocks:
    """The doors `addons` and `http` of a test's host.

    A request is answered by the mock of its whole address, of the address without its query, or of
    the step `http`, in that order.

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
        """Answer the step `http`: its mock is a map with `status`, `body`, `headers`, or a body.

        Raises:
            HttpFailure: it has none, or its mock is an error.
        """
        address = request.url.partition("?")[0]
        ways = (request.url, address, "http")
        name = next((way for way in ways if way in self.results), None)
        if name is None:
            self.missing.append(f"{request.method} {address}")
            raise HttpFailure("not-mocked", f"'{address}' is not mocked")
        told = {"method": request.method, "url": request.url, "headers": dict(request.headers)}
        self.calls[name].append(told | {"body": _sent(request)})
        result = self.results[name]
        if isinstance(result, dict) and result.keys() == {"error"}:
            error = result["error"] if isinstance(result["error"], dict) else {}
            raise _failure(name, error)
        return _response(result)


def _sent(request: HttpRequest) -> Any:
    """Return a body as its JSON, or as text."""
    try:
        return msgspec.json.decode(request.body) if request.body else None
    except msgspec.DecodeError:
        return request.body.decode(errors="replace")


def _response(result: Any) -> HttpResponse:
    whole = result if isinstance(result, dict) and "status" in result else {"body": result}
    given = {name.lower(): str(one) for name, one in (whole.get("headers") or {}).items()}
    headers = {"content-type": "application/json", **given}
    body = whole.get("body")
    if isinstance(body, str) and not headers["content-type"].startswith("application/json"):
        return HttpResponse(whole.get("status", 200), headers, body.encode())
    sent = b"" if body is None else msgspec.json.encode(body)
    return HttpResponse(whole.get("status", 200), headers, sent)


def answer_of(name: str, result: Any) -> Any:
    """Return the result of a mock.

    Raises:
        HttpFailure: it is `{ error: { status, message, reason, retryAfter } }`.
        AddonFailure: it is an error without a status.
    """
    if (
        isinstance(result, dict)
        and result.keys() == {"error"}
        and isinstance(result["error"], dict)
    ):
        told = result["error"]
        if "status" in told:
            raise _failure(name, told)
        raise AddonFailure("mocked-error", str(told.get("message") or f"'{name}' failed"))
    return result


def _failure(name: str, told: Mapping[str, Any]) -> HttpFailure:
    """Return how a step fails by the error of a mock, as if another server had answered it."""
    return HttpFailure(
        "httpFailed", str(told.get("message") or f"'{name}' failed"), answered=told.get("status"),
        reason=told.get("reason"), retry_after=told.get("retryAfter"),
    )  # fmt: skip
