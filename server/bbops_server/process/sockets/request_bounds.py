"""The limits of a request's head, equal on both planes."""

from __future__ import annotations

from typing import Any, Final

MAX_HEADERS: Final = 100
MAX_HEADERS_BYTES: Final = 32 << 10
"""The size of names, values and query string together."""
MAX_PATH_BYTES: Final = 8 << 10

RequestProblem = tuple[int, str]


def find_problem(scope: Any) -> RequestProblem | None:
    """Return the status and message to reject a request with; None for a valid request.

    Two Host headers are a method of request smuggling: RFC 9112 section 3.2.
    """
    headers = scope["headers"]
    if len(headers) > MAX_HEADERS:
        return 431, f"more than {MAX_HEADERS} headers"
    hosts, size = 0, len(scope["query_string"])
    for name, value in headers:
        size += len(name) + len(value)
        if name == b"host":
            hosts += 1
    if hosts != 1:
        return 400, f"expected one Host header, found {hosts}"
    if size > MAX_HEADERS_BYTES:
        return 431, f"the headers are larger than {MAX_HEADERS_BYTES:,} bytes"
    if len(scope.get("raw_path") or b"") > MAX_PATH_BYTES:
        return 400, f"the path is longer than {MAX_PATH_BYTES:,} bytes"
    return None
