"""What answers in place of the world outside: the mocks of a test, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from bbops.base.doors import Pieces
from bbops.base.host import HttpRequest, HttpResponse, MailRequest
from bbops.compiler.testing.agents import count_answers, scripted_answer
from bbops.language.addons._base import kind
from bbops.runtime.agents.values import STEPS
from bbops.runtime.steps.addons import AddonFailure
from bbops.runtime.values.failures import HttpFailure, Thrown

_FOR_REAL: Final = "localStorage"
"""The addon whose steps need no mock: a case has a storage of its own, in memory."""


class Mocks:
    """The doors `addons` and `http` of a test's host.

    A request is answered by the mock of its whole address, of the address without its query, or of
    the step `http`, in that order.

    Attributes:
        calls: the parameters of each call, by step.
        missing: calls that no mock answers; each of them fails the case, even where it is caught.
        model: the answers of a model in their order; None where it is mocked by its step.
        asked: the number of answers of `model` that the agent has asked for.
    """

    def __init__(self, results: Mapping[str, Any]) -> None:
        self.results = results
        self.calls: dict[str, list[Any]] = {name: [] for name in results}
        self.missing: list[str] = []
        self.model: Sequence[Any] | None = None
        self.asked = 0

    def takes(self, step: str) -> bool:
        """Return whether a mock answers a step; files are kept for real where none does."""
        return step in self.results or step.partition(".")[0] != _FOR_REAL

    async def call(self, step: str, parameters: Mapping[str, Any]) -> Any:
        """Answer a step as its mock says.

        Raises:
            AddonFailure: it has none, or its mock is an error.
            HttpFailure: its mock is an error of a vendor.
            Thrown: its mock is an error with which the step itself answers the request.
        """
        scripted = self._scripted(step, parameters)
        if scripted is not None:
            return scripted
        if step not in self.results:
            self.missing.append(step)
            raise AddonFailure("not-mocked", f"'{step}' is not mocked")
        self.calls[step].append(dict(parameters))
        return answer_of(step, self.results[step])

    def _scripted(self, step: str, parameters: Mapping[str, Any]) -> Any | None:
        """Return the answer of a model that the case writes; None where it writes none."""
        if self.model is None or step not in STEPS.values():
            return None
        self.calls.setdefault(step, []).append(dict(parameters))
        number = count_answers(parameters)
        self.asked = max(self.asked, number + 1)
        answer = scripted_answer(step, self.model, parameters)
        if answer is None:
            raise AddonFailure("not-mocked", f"'model' has no answer {number + 1}")
        return answer

    async def stream(self, step: str, parameters: Mapping[str, Any]) -> Pieces:
        """Answer a step piece by piece: its mock is `{ pieces, result }`, or a result alone.

        With `error` in the place of `result` it breaks off behind its pieces.

        Raises:
            AddonFailure: it has none, or its mock is an error.
            HttpFailure: its mock is an error of a vendor.
        """
        found = await self.call(step, parameters)
        if not (isinstance(found, dict) and isinstance(found.get("pieces"), list)):
            return MockedPieces(step, [], {"result": found})
        return MockedPieces(step, list(map(str, found["pieces"])), found)

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

    async def send_mail(self, request: MailRequest) -> Sequence[str]:
        """Refuse: the steps that send mails are mocked by their names.

        Raises:
            HttpFailure: always.
        """
        self.missing.append(f"mail to {request.host}")
        raise HttpFailure("not-mocked", "a mail is not mocked")


class MockedPieces:
    """What a mock gives piece by piece: each text by itself."""

    def __init__(self, step: str, pieces: Sequence[str], told: Mapping[str, Any]) -> None:
        self._step, self._left, self._told = step, list(pieces), told

    async def read(self) -> Sequence[str] | None:
        """Return the next text; None at the end.

        Raises:
            HttpFailure: the mock says that it breaks off, with a status.
            AddonFailure: it does so without one.
        """
        if self._left:
            return [self._left.pop(0)]
        if "error" in self._told:
            answer_of(self._step, {"error": self._told["error"] or {}})
        return None

    def result(self) -> Any:
        """Return what the mock says that the whole is."""
        return self._told.get("result")

    async def close(self) -> None:
        """Do nothing: nothing is open."""


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
        Thrown: it is such an error, with a status with which the step answers the request.
        AddonFailure: it is an error without a status.
    """
    if (
        isinstance(result, dict)
        and result.keys() == {"error"}
        and isinstance(result["error"], dict)
    ):
        told = result["error"]
        if told.get("status") in _answers_of(name):
            raise Thrown(told["status"], told.get("message"))
        if "status" in told:
            raise _failure(name, told)
        raise AddonFailure("mocked-error", str(told.get("message") or f"'{name}' failed"))
    return result


def _answers_of(step: str) -> frozenset[int]:
    """Return the statuses with which a step itself answers the request."""
    addon, _, name = step.partition(".")
    found = kind(addon)
    return found.actions[name].answers if found and name in found.actions else frozenset()


def _failure(name: str, told: Mapping[str, Any]) -> HttpFailure:
    """Return how a step fails by the error of a mock, as if another server had answered it."""
    return HttpFailure(
        "httpFailed", str(told.get("message") or f"'{name}' failed"), answered=told.get("status"),
        reason=told.get("reason"), retry_after=told.get("retryAfter"),
    )  # fmt: skip
