"""The stand-in for models as a server: keys, scripts, faults and a record of the requests."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.models.script import (
    Broken,
    Busy,
    Fault,
    Script,
    ScriptedAnswer,
    Slow,
    read_script,
)
from tests.support.models.wire import (
    PATHS,
    ModelRequest,
    Protocol,
    write_answer,
    write_error,
    write_events,
)

KEY = "sk-scripted-model"
Response = tuple[int, Any, Mapping[str, str]]
"""Status, JSON and headers; the status 0 cuts the connection in the middle of the answer."""


class ModelServer(ThreadingHTTPServer):
    """Serves scripts.

    Attributes:
        key: the key that requests need.
        requests: the requests with their status, oldest first.
        failures: requests that do not fit the script, or break a rule of the vendor.
        gate: answers wait until it is set; it is set at first.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, scripts: Mapping[str, Script]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.key = KEY
        self.requests, self.failures = list[ModelRequest](), list[str]()
        self.gate, self.ended = threading.Event(), threading.Event()
        self.gate.set()
        self._scripts = {model: read_script(script) for model, script in scripts.items()}
        self._faults = Counter[tuple[str, int, int]]()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        """Return the address, the setting `endpoint` of an addon."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that close the connection."""

    def respond(self, protocol: Protocol, headers: Mapping[str, str], body: Any) -> Response:
        """Return the response for a request, and record the request."""
        if not self.has_key(headers):
            error = write_error(protocol, "authentication_error", "the API key is not valid")
            return self._recorded(ModelRequest(protocol, headers, body, 401), error)
        request = ModelRequest(protocol, headers, body, 200)
        answer, failure = self._find(request)
        fault = None if failure or answer is None else self._take_fault(request, answer)
        if isinstance(fault, Busy):
            busy = ModelRequest(protocol, headers, body, 429)
            wait = {"retry-after": str(fault.retry_after_seconds)}
            return self._recorded(busy, write_error(protocol, "rate_limit_error", "busy"), wait)
        if isinstance(fault, Broken):
            broken = ModelRequest(protocol, headers, body, fault.status)
            return self._recorded(broken, write_error(protocol, "api_error", "broken"))
        if answer is None or failure:
            wrong = ModelRequest(protocol, headers, body, 400)
            return self._recorded(wrong, write_error(protocol, "invalid_request_error", failure))
        whole = write_answer(request, answer)
        return self._recorded(ModelRequest(protocol, headers, body, 0 if fault else 200), whole)

    def has_key(self, headers: Mapping[str, str]) -> bool:
        """Return whether a request has the key, in one of the two headers for it."""
        return self.key in {headers.get("x-api-key"), headers.get("authorization", "")[7:]}

    def _find(self, request: ModelRequest) -> tuple[ScriptedAnswer | None, str]:
        """Return the answer of the script, and the mistake of the request."""
        script = self._scripts.get(request.model, self._scripts.get("", []))
        place = request.answered
        answer = script[place] if place < len(script) else None
        if answer is None:
            failure = f"the script for '{request.model}' ended after {len(script)} answers"
        else:
            seen = [*request.results, *request.texts]
            missing = [part for part in answer.expects if not any(part in text for text in seen)]
            mistakes = [*request.mistakes(), *(f"expected {part!r} in {seen}" for part in missing)]
            failure = "; ".join(mistakes)
        if failure:
            with self._lock:
                self.failures.append(failure)
        return answer, failure

    def _take_fault(self, request: ModelRequest, answer: ScriptedAnswer) -> Fault | None:
        """Return the next fault that is left, after the pauses."""
        for at, fault in enumerate(answer.faults):
            if isinstance(fault, Slow):
                self.ended.wait(fault.seconds)
                continue
            place = (request.model, request.answered, at)
            with self._lock:
                self._faults[place] += 1
                if self._faults[place] <= fault.times:
                    return fault
        return None

    def _recorded(
        self, request: ModelRequest, value: Any, headers: Mapping[str, str] | None = None
    ) -> Response:
        with self._lock:
            self.requests.append(request)
        return request.status, value, headers or {}


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        if self.path.partition("?")[0] != "/v1/models":
            return self._send(404, write_error("chat", "not_found_error", "not found"))
        if not self.server.has_key(headers):
            return self._send(401, write_error("chat", "authentication_error", "not valid"))
        return self._send(200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers.get("content-length", 0)))
        protocol = PATHS.get(self.path)
        if protocol is None:
            return self._send(404, write_error("chat", "not_found_error", "not found"))
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = json.loads(data)
        status, value, more = self.server.respond(protocol, headers, body)
        self.server.gate.wait()
        if status in {0, 200} and body.get("stream"):
            events = "".join(write_events(protocol, value)).encode()
            return self._send(status, events, {**more, "content-type": "text/event-stream"})
        return self._send(status, value, more)

    def _send(self, status: int, value: Any, headers: Mapping[str, str] | None = None) -> None:
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        sent = {"content-type": "application/json", "content-length": str(len(data))}
        with suppress(ConnectionError):
            self.send_response(status or 200)
            for name, text in {**sent, **(headers or {})}.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(data if status else data[: len(data) // 2])
        if not status:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Print nothing."""


@contextmanager
def scripted_models(script: Script | Mapping[str, Script]) -> Iterator[ModelServer]:
    """Serve a script, or one for each model; a request that does not fit it fails the block.

    Raises:
        AssertionError: at the end of the block, with the requests that did not fit.
    """
    scripts = script if isinstance(script, Mapping) else {"": script}
    with ModelServer(scripts) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield server
        finally:
            server.ended.set()
            server.gate.set()
            server.shutdown()
    assert not server.failures, server.failures
