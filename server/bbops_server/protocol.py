"""HTTP/1.1 on a connection: uvicorn's protocol, with bounds, and a short way for usual requests.

What is unusual (an upgrade, a streamed answer, an odd URL) takes uvicorn's own way. The short way
does the same with fewer calls, one timer per connection instead of one per request, and writes
head and body at once: two system calls less, and the client wakes up once.
"""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http.httptools_impl import (
    HEADER_RE,
    HEADER_VALUE_RE,
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

MAX_HEAD_BYTES = 256 << 10
"""More than this never reaches an application; what is below it gets an answer from there."""

_WHOLE_BYTES = 64 << 10
"""A longer body is not copied to stand behind its head."""

_LINES_KEPT = 1024
_LONGEST_KEPT_BYTES = 128
_MEANT_FOR_UVICORN = frozenset((b"connection", b"transfer-encoding"))

_lines: dict[tuple[bytes, bytes], bytes] = {}


class Exchange(RequestResponseCycle):
    """One request and its answer."""

    head: Any = None

    async def send(self, message: Any) -> None:
        """Keep the head until the body comes; until then an error still becomes a 500."""
        if message["type"] == "http.response.start" and not self.response_started:
            self.head = message
            return
        head, self.head = self.head, None
        if head is not None:
            whole = self._render(head, message)
            if whole is not None:
                self._finish(whole)
                return
            await super().send(head)
        await super().send(message)

    def _render(self, head: Any, message: Any) -> bytes | None:
        """Return the whole answer, or None if it is not a usual one."""
        body, status, length = message.get("body", b""), head["status"], None
        if (
            message.get("more_body") or self.disconnected or not self.keep_alive
            or self.flow.write_paused or len(body) > _WHOLE_BYTES
        ):  # fmt: skip
            return None
        parts = [STATUS_LINE[status]]
        for header in (*self.default_headers, *head["headers"]):
            line = _lines.get(header)
            if line is None and length is None and header[0] == b"content-length":
                length = header[1]
                line = b"content-length: %b\r\n" % length
            elif line is None:
                line = _line(*header)
                if line is None:
                    return None
            parts.append(line)
        is_head = self.scope["method"] == "HEAD"
        if not _is_right(length, b"" if is_head else body, status, is_head=is_head):
            return None
        parts += (b"\r\n",) if is_head else (b"\r\n", body)
        return b"".join(parts)

    def _finish(self, whole: bytes) -> None:
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = False
        self.transport.write(whole)
        self.message_event.set()
        self.on_response()


def _is_right(length: bytes | None, body: bytes, status: int, *, is_head: bool) -> bool:
    if length is None:
        return status in {204, 304} and not body
    return length.isdigit() if is_head else length == b"%d" % len(body)


def _line(name: bytes, value: bytes) -> bytes | None:
    """Return a header as it is sent; None if only uvicorn knows what to do with it."""
    lower = name.lower()
    if lower in _MEANT_FOR_UVICORN or HEADER_RE.search(name) or HEADER_VALUE_RE.search(value):
        return None
    line = b"%b: %b\r\n" % (lower, value)
    if lower != b"content-length" and len(line) <= _LONGEST_KEPT_BYTES:
        if len(_lines) >= _LINES_KEPT:
            _lines.clear()
        _lines[name, value] = line
    return line


class BoundedProtocol(HttpToolsProtocol):
    """A connection whose request head cannot grow for ever: httptools itself sets no bound."""

    head_bytes = 0
    is_in_head = False
    is_idle = False
    idle_since = 0.0

    def data_received(self, data: bytes) -> None:
        """Parse what has come; of a head in several pieces, all but the first are counted."""
        self.is_idle = False
        if self.is_in_head:
            self.head_bytes += len(data)
            if self.head_bytes > MAX_HEAD_BYTES:
                self.send_400_response("The request's head is too long.")
                return
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:
            self.logger.warning("invalid HTTP request received")
            self.send_400_response("Invalid HTTP request received.")
        except httptools.HttpParserUpgrade:
            self._upgrade()

    def _upgrade(self) -> None:
        self._unset_keepalive_if_required()
        if self._should_upgrade():
            self.handle_websocket_upgrade()
        else:
            self._unsupported_upgrade_warning()

    def on_message_begin(self) -> None:
        """Begin a request, and begin to count."""
        self.is_in_head, self.head_bytes = True, 0
        self.url, self.expect_100_continue, self.headers = b"", False, []
        scope: Any = {
            "type": "http", "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
            "http_version": "1.1", "server": self.server, "client": self.client,
            "scheme": self.scheme, "root_path": self.root_path, "headers": self.headers,
            "state": self.app_state.copy(),
        }  # fmt: skip
        self.scope = scope

    def on_headers_complete(self) -> None:
        """Start the application; bodies have bounds of their own."""
        self.is_in_head = False
        url, parser = self.url, self.parser
        if (
            url[:1] != b"/" or b"#" in url or parser.should_upgrade()
            or parser.get_http_version() != "1.1" or self.limit_concurrency or self.root_path
        ):  # fmt: skip
            super().on_headers_complete()
            if self.cycle is not None:  # it is None before the upgrade to a websocket
                self.cycle.__class__ = Exchange
            return
        scope: Any = self.scope
        raw, _, query = url.partition(b"?")
        path = raw.decode("ascii")
        scope["method"] = parser.get_method().decode("ascii")
        scope["path"] = unquote(path) if "%" in path else path
        scope["raw_path"], scope["query_string"] = raw, query
        self._begin()

    def _begin(self) -> None:
        before: Any = self.cycle
        self.cycle = Exchange(
            self.scope, self.transport, self.flow, self.logger, self.access_logger,
            self.access_log, self.server_state.default_headers, asyncio.Event(),
            self.expect_100_continue, self.parser.should_keep_alive(), self.on_response_complete,
        )  # fmt: skip
        if before is None or before.response_complete:
            self._run(self.cycle, self.app)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, self.app))

    def _run(self, cycle: RequestResponseCycle, app: Any) -> None:
        task = self.loop.create_task(cycle.run_asgi(app))
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)

    def on_response_complete(self) -> None:
        """Go on to the next request, or begin to wait for one."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._run(*self.pipeline.pop())
            return
        self.is_idle, self.idle_since = True, self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._wait(self.timeout_keep_alive)

    def _wait(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(
            seconds, self.timeout_keep_alive_handler
        )

    def timeout_keep_alive_handler(self) -> None:
        """Close the connection if nothing came since; else look again when it may be time."""
        self.timeout_keep_alive_task = None
        if not self.is_idle or self.transport.is_closing():
            return
        left = self.idle_since + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self._wait(left)
        else:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        super().connection_lost(exc)
        self._unset_keepalive_if_required()
