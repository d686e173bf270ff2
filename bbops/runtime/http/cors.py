"""Cross-origin requests, and requests without a route: preflights, OPTIONS, 404 and 405.

Source: the Fetch standard, "CORS protocol".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from bbops.runtime.http.headers import Headers, write
from bbops.runtime.http.responses import Answering
from bbops.runtime.http.routes import RouteTable
from bbops.runtime.values.failures import Thrown

_EXPOSED = (
    "x-release", "x-request-id", "retry-after", "ratelimit", "ratelimit-policy", "etag",
    "idempotency-replayed", "content-range", "accept-ranges", "content-disposition",
)  # fmt: skip
_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")


class Cors:
    """The policy of one channel, as bytes that are ready to be sent."""

    __slots__ = (
        "any_origin", "credentials", "exposed", "headers", "max_age", "methods", "origins",
        "policy", "written",
    )  # fmt: skip

    def __init__(self, policy: Mapping[str, Any], exposes: Sequence[str] = ()) -> None:
        """Take a channel's `cors`.

        Args:
            policy: its keys, as the artifact has them.
            exposes: response headers that pages may read besides the standing ones and its own.
        """
        origins = policy["origins"]
        self.policy = policy
        self.any_origin = "*" in origins
        self.origins = frozenset(origin.lower().encode() for origin in origins)
        self.credentials = bool(policy["credentials"])
        self.methods: Sequence[str] = policy["methods"]
        self.headers = ", ".join(policy["headers"]).encode()
        self.max_age = b"%d" % policy["max_age"]
        self.written: dict[bytes | None, bytes] = {}
        shown = dict.fromkeys((*_EXPOSED, *exposes, *map(str.lower, policy["expose"])))
        self.exposed = (b"access-control-expose-headers", ", ".join(shown).encode())

    def lines(self, scope: Any) -> bytes:
        """Return the header lines with which a page of the request's origin may read an answer."""
        origin = header(scope, b"origin")
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

    def allows(self, scope: Any) -> bool:
        """Whether a page of the request's origin may read an answer."""
        origin = header(scope, b"origin")
        return origin is not None and (self.any_origin or origin in self.origins)

    def answer_preflight(self, scope: Any, methods: Iterable[str]) -> Headers:
        """Return the headers of the answer to a preflight.

        Args:
            methods: the methods of the path; a list of the channel replaces them.
        """
        found = self._headers(header(scope, b"origin"))
        if not self.allows(scope):
            return found
        found += [
            (b"access-control-allow-methods", ", ".join(self.methods or methods).encode()),
            (b"access-control-max-age", self.max_age),
        ]
        wanted = header(scope, b"access-control-request-headers")
        if self.headers:
            found.append((b"access-control-allow-headers", self.headers))
        elif wanted and len(wanted) <= 1_000:
            found.append((b"access-control-allow-headers", wanted))
        return found


class ChannelPolicies:
    """The policies of all channels, for the requests that no route answers."""

    __slots__ = ("policies",)

    def __init__(self, channels: Iterable[tuple[str, Mapping[str, Any]]] = ()) -> None:
        """Take the base path and `cors` of each channel."""
        found = [(path.split("/"), Cors(policy)) for path, policy in channels]
        self.policies = sorted(found, key=lambda one: len(one[0]), reverse=True)

    def find(self, path: str, scope: Any) -> Cors | None:
        """Return the policy that lets a page read an answer below a base path. O(channels).

        The longest base path that allows the origin counts, else the longest one.
        """
        segments = path.split("/")
        found = [cors for base, cors in self.policies if _is_below(base, segments)]
        return next((cors for cors in found if cors.allows(scope)), next(iter(found), None))

    def answer_preflight(self, path: str, scope: Any) -> Headers | None:
        """Return the headers of a preflight for a path without a route; None outside channels.

        The page may then send its request, and read that there is no such route.
        """
        cors = self.find(path, scope)
        return None if cors is None else cors.answer_preflight(scope, _METHODS)


def _is_below(base: Sequence[str], segments: Sequence[str]) -> bool:
    return len(base) <= len(segments) and all(
        mine == theirs or mine.startswith(":") for mine, theirs in zip(base, segments, strict=False)
    )


def is_preflight(scope: Any) -> bool:
    """Return whether a request only asks for permission."""
    return (
        scope["method"] == "OPTIONS" and header(scope, b"access-control-request-method") is not None
    )


def header(scope: Any, wanted: bytes) -> bytes | None:
    """Return the first value of a request header."""
    for name, value in scope["headers"]:
        if name == wanted:
            found: bytes = value
            return found
    return None


class Unmatched:
    """A release's responses to requests that no route answers."""

    __slots__ = ("answering", "policies", "table")

    def __init__(
        self, table: RouteTable[Any], answering: Answering, policies: ChannelPolicies
    ) -> None:  # fmt: skip
        self.table, self.answering, self.policies = table, answering, policies

    async def answer(self, scope: Any, send: Any, path: str, allowed: Sequence[str]) -> None:
        """Answer a request.

        Args:
            scope: of ASGI.
            send: of ASGI.
            path: as it came, percent-encoded.
            allowed: the methods of the path; none for an unknown path.
        """
        if is_preflight(scope):
            await self._preflight(scope, send, path, allowed)
            return
        cors = self.policies.find(path, scope)
        if cors is not None:
            scope["bbops"].lines = cors.lines(scope)
        if not allowed:
            await self._not_found(scope, send)
        elif scope["method"] == "OPTIONS":
            await self.answering.send(send, scope, 204, b"", _allow(allowed))
        else:
            listed = ", ".join(allowed)
            error = Thrown(405, f"this route answers {listed}", headers={"allow": listed})
            await self.answering.fail(send, error, scope)

    async def _preflight(
        self, scope: Any, send: Any, path: str, allowed: Sequence[str]
    ) -> None:  # fmt: skip
        if allowed:
            headers = [*_allow(allowed), *self._permission(scope, path, allowed)]
            await self.answering.send(send, scope, 204, b"", headers)
            return
        found = self.policies.answer_preflight(path, scope)
        if found is None:
            await self._not_found(scope, send)
        else:
            await self.answering.send(send, scope, 204, b"", found)

    def _permission(self, scope: Any, path: str, allowed: Sequence[str]) -> Headers:
        """Return the requested method's CORS headers, which allow all methods of its policy."""
        asked = (header(scope, b"access-control-request-method") or b"").decode("latin-1")
        policies = {one: self._policy(one, path) for one in allowed if one != "OPTIONS"}
        cors = policies.get(asked)
        if cors is None:
            return []
        same = [one for one, other in policies.items() if other and other.policy == cors.policy]
        return cors.answer_preflight(scope, same)

    def _policy(self, method: str, path: str) -> Cors | None:
        target, _ = self.table.match(method, path)
        return getattr(target, "cors", None)  # published keys are a plain function

    async def _not_found(self, scope: Any, send: Any) -> None:
        await self.answering.fail(send, Thrown(404, "no such route"), scope)


def _allow(methods: Sequence[str]) -> Headers:
    return [(b"allow", ", ".join(methods).encode())]
