"""Cross-origin requests: which pages of other origins may read an answer, and preflights.

Source: the Fetch standard, "CORS protocol".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bbops.runtime.http.headers import Headers, write

_EXPOSED = (
    "x-release", "x-request-id", "retry-after", "ratelimit", "ratelimit-policy", "etag",
    "idempotency-replayed",
)  # fmt: skip


class Cors:
    """The policy of one channel, as bytes that are ready to be sent."""

    __slots__ = ("any_origin", "credentials", "exposed", "origins", "preflight", "written")

    def __init__(
        self, policy: Mapping[str, Any], methods: Sequence[str], exposes: Sequence[str] = ()
    ) -> None:  # fmt: skip
        """Take a channel's `cors`; `methods` are what the route answers.

        `exposes` are headers of answers that pages may read besides those of every answer.
        """
        origins = policy["origins"]
        self.any_origin = "*" in origins
        self.origins = frozenset(origin.lower().encode() for origin in origins)
        self.credentials = bool(policy["credentials"])
        allowed = policy["methods"] or methods
        self.preflight: Headers = [
            (b"access-control-allow-methods", ", ".join(allowed).encode()),
            (b"access-control-max-age", str(policy["max_age"]).encode()),
        ]
        if policy["headers"]:
            listed = ", ".join(policy["headers"]).encode()
            self.preflight.append((b"access-control-allow-headers", listed))
        self.written: dict[bytes | None, bytes] = {}
        shown = ", ".join((*_EXPOSED, *exposes))
        self.exposed = (b"access-control-expose-headers", shown.encode())

    def lines(self, scope: Any) -> bytes:
        """Return the header lines with which a page of the request's origin may read an answer."""
        origin = _header(scope, b"origin")
        found = self.written.get(origin)
        if found is None:
            found = write(self._headers(origin))
            if origin in self.origins or origin is None:  # others could be endless
                self.written[origin] = found
        return found

    def _headers(self, origin: bytes | None) -> Headers:
        if self.any_origin:  # then nobody's cookies count, whatever is listed beside it
            return [(b"access-control-allow-origin", b"*"), self.exposed] if origin else []
        vary = (b"vary", b"origin")
        if origin is None or origin not in self.origins:
            return [vary]
        found = [(b"access-control-allow-origin", origin), vary, self.exposed]
        if self.credentials:
            found.append((b"access-control-allow-credentials", b"true"))
        return found

    def answer_preflight(self, scope: Any) -> Headers:
        """Return the headers of the answer to an OPTIONS request that asks for permission."""
        found = self._headers(_header(scope, b"origin"))
        if not any(name == b"access-control-allow-origin" for name, _ in found):
            return found
        found += self.preflight
        wanted = _header(scope, b"access-control-request-headers")
        if wanted and len(self.preflight) == 2 and len(wanted) <= 1_000:
            found.append((b"access-control-allow-headers", wanted))
        return found


def is_preflight(scope: Any) -> bool:
    """Return whether a request only asks for permission."""
    return (
        scope["method"] == "OPTIONS"
        and _header(scope, b"access-control-request-method") is not None
    )


def _header(scope: Any, wanted: bytes) -> bytes | None:
    for name, value in scope["headers"]:
        if name == wanted:
            found: bytes = value
            return found
    return None
