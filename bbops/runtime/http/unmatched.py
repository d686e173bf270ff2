"""Requests that no route answers: 404, 405, OPTIONS, and preflights of browsers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bbops.runtime.http.cors import ChannelPolicies, Cors, header, is_preflight
from bbops.runtime.http.headers import Headers
from bbops.runtime.http.responses import Answering
from bbops.runtime.http.routes import RouteTable
from bbops.runtime.values.failures import Thrown


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
