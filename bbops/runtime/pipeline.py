"""From an ASGI request to a function and back, specialised per endpoint.

What an endpoint does not use, it does not pay for: query, headers and body are decoded only when
its function, or its middleware, needs them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bbops.runtime.answering import MAX_ANSWER, Answering
from bbops.runtime.api_keys import given_key
from bbops.runtime.cors import Cors
from bbops.runtime.failures import NOTHING, InvalidInput, Thrown
from bbops.runtime.flights import Flight, Flights
from bbops.runtime.flow import Answer, Function, Run
from bbops.runtime.limits import Limit
from bbops.runtime.reading import NOTHING_READ, Gone, Reading
from bbops.runtime.values import check_size


@dataclass(frozen=True, slots=True)
class Policy:
    """What stands between a route and its function."""

    method: str
    path: str
    timeout_seconds: float
    flights: Flights
    limit: Limit | None
    cors: Cors | None
    authentication: str
    channel: str
    middleware: tuple[Function, ...]


class Pipeline:
    """One endpoint's way from request to answer; made once per release."""

    __slots__ = (
        "answering", "apply_shapes", "authentication", "channel", "cors", "flights", "function",
        "has_shapes", "has_vars", "is_guarded", "limit", "middleware", "read", "reads", "route",
        "timeout_seconds", "typed", "unfolds",
    )  # fmt: skip

    def __init__(self, function: Function, policy: Policy, answering: Answering) -> None:
        self.function, self.answering = function, answering
        self.authentication, self.middleware = policy.authentication, policy.middleware
        self.channel = policy.channel
        self.flights, self.timeout_seconds = policy.flights, policy.timeout_seconds
        self.limit, self.cors, self.route = policy.limit, policy.cors, policy.path
        every = (function, *policy.middleware)
        self.unfolds = any(one.unfolds for one in every)
        self.typed = [
            one for one in policy.middleware if one.params is not None or one.query is not None
        ]
        self.has_vars = any("vars" in one.needs for one in every)
        self.is_guarded = self.limit is not None or self.authentication != "None"
        reading = Reading(policy.method, function, policy.middleware, answering)
        self.reads, self.has_shapes = reading.reads, reading.has_shapes
        self.read, self.apply_shapes = reading.read, reading.apply_shapes

    async def __call__(self, scope: Any, receive: Any, send: Any, params: dict[str, str]) -> None:
        """Answer one request, in the time it has and for as long as its client waits."""
        flight: Flight = scope["bbops"]
        flights, answering = self.flights, self.answering
        flight.receive = receive
        flight.task, flight.answering = asyncio.current_task(flights.loop), answering
        flight.timeout_seconds, flight.route = self.timeout_seconds, self.route
        flights.flying.add(flight)
        try:
            answer = await self.run(scope, receive, params, flight)
            if not answering.send_json(send, scope, answer):
                await answering.send(send, scope, *answering.render(answer))
        except Gone:
            pass
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - the last place
            await self.fail(scope, send, flight, error)
        finally:
            flights.land(flight)

    async def fail(self, scope: Any, send: Any, flight: Flight, error: BaseException) -> None:
        """Answer a failure; a request that was ended from outside has one only if it was late."""
        try:
            if not isinstance(error, asyncio.CancelledError):
                await self.answering.fail(send, error, scope)
                return
        except asyncio.CancelledError as cancelled:
            error = cancelled
        if not flight.ended_by or flight.task is None:
            raise error
        flight.task.uncancel()
        if flight.ended_by == "timeout" and not flight.is_sent:
            late = Thrown(503, "it took too long", headers={"retry-after": "1"})
            await self.answering.fail(send, late, scope)

    async def run(
        self, scope: Any, receive: Any, params: dict[str, str], flight: Flight
    ) -> Answer:  # fmt: skip
        """Return what middleware or function answer.

        Raises:
            Exception: whatever they throw; Thrown, InvalidInput and TooLarge where the request
                does not reach them.
            Gone: the client left.
        """
        if self.cors is not None:
            flight.headers = self.cors.headers(scope)
        run = self.answering.run()
        run.params = params
        if self.has_vars:
            run.vars = {}
        if self.is_guarded:
            self.admit(run, scope)
            if self.authentication == "API Key":
                await self.admit_key(run, scope)
        texts, body = await self.read(run, scope, receive) if self.reads else NOTHING_READ
        flight.is_read = True
        for function in self.middleware:
            if self.typed and function in self.typed:
                answer = await run_typed(function, run, texts)
            else:
                answer = await function.flow(run)
            if answer[1] is not NOTHING:
                break
        else:
            if self.has_shapes:
                self.apply_shapes(run, texts, body)
            answer = await self.function.flow(run)
        if self.unfolds:
            check_size(answer[1], MAX_ANSWER)
        return answer

    def admit(self, run: Run, scope: Any) -> None:
        """Count the request against its channel's limit, and require its user.

        Raises:
            Thrown: 429 beyond the limit; 401 without a valid token.
        """
        claims = self.authenticate(scope) if self.authentication == "JWT" else None
        if self.limit is not None:
            check_limit(self.limit, claims, scope)
        if self.authentication != "JWT":
            return
        if claims is None:
            raise Thrown(401)
        run.auth, scope["bbops"].user = claims, claims["userId"]

    async def admit_key(self, run: Run, scope: Any) -> None:
        """Require a key that opens this channel.

        Raises:
            Thrown: 401 without one.
        """
        given = given_key(scope)
        key = await self.answering.api_keys.verify(given, self.channel) if given else None
        if key is None:
            raise Thrown(401, "a valid API key is needed")
        run.api_key, scope["bbops"].user = key, f"key:{key['id']}"

    def authenticate(self, scope: Any) -> dict[str, Any] | None:
        """Return the signed-in user, None without a valid token.

        Of several `authorization` headers the first one counts.
        """
        tokens = self.answering.tokens
        if tokens is None:
            return None
        for name, value in scope["headers"]:
            if name == b"authorization":
                if value[:7].lower() != b"bearer ":
                    return None
                return tokens.verify(value[7:].strip().decode("latin-1"))
        return None


async def run_typed(function: Function, run: Run, texts: dict[str, list[str]]) -> Answer:
    """Run middleware on params and query typed by its own shapes; what follows sees the texts.

    Raises:
        InvalidInput: listing every wrong field.
    """
    params, query = run.params, run.query
    errors: dict[str, list[str]] = {}
    if function.from_params is not None:
        run.params = function.from_params(params, errors)
    if function.query is not None:
        run.query = function.from_query(texts, errors)
    if errors:
        raise InvalidInput(errors)
    answer = await function.flow(run)
    run.params, run.query = params, query
    return answer


def check_limit(limit: Limit, claims: Mapping[str, Any] | None, scope: Any) -> None:
    """Count a request against its channel: by user where one signed in, else by address.

    Raises:
        Thrown: 429 with `retry-after`.
    """
    client = scope.get("client")
    key = f"user:{claims['userId']}" if claims else f"ip:{client[0] if client else ''}"
    if not limit.allow(key):
        wait = limit.retry_after_seconds(key)
        raise Thrown(429, f"try again in {wait} s", headers={"retry-after": str(wait)})
