"""From an ASGI request to a function and back, specialised per endpoint.

What an endpoint does not use, it does not pay for: query, headers and body are decoded only when
its function, or its middleware, needs them.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from bbops.base.doors import Files
from bbops.runtime.flow.run import Answer, Function, Run, SentStream
from bbops.runtime.http.authorization import Admission, check_name
from bbops.runtime.http.cors import Cors
from bbops.runtime.http.file_answers import SENDING_SECONDS, SentFile, send_file
from bbops.runtime.http.idempotency import Once
from bbops.runtime.http.in_flight import ActiveRequest, ActiveRequests
from bbops.runtime.http.rate_limits import Limit, NameLimits
from bbops.runtime.http.request_decoding import NOTHING_READ, Gone, Reading, check_params
from bbops.runtime.http.responses import MAX_ANSWER, Answering
from bbops.runtime.http.session_cookies import SessionCookies
from bbops.runtime.http.stream_answers import send_stream
from bbops.runtime.http.uploads import Uploads
from bbops.runtime.values.failures import NOTHING, InvalidInput, Thrown
from bbops.runtime.values.values import check_size

RECEIVING_SECONDS = 300.0
"""How much longer than its `timeout` a request may take while its files come in."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What stands between a route and its function."""

    method: str
    path: str
    endpoint: str
    max_body_bytes: int
    uploads: Uploads | None
    is_once: bool
    timeout_seconds: float
    active_requests: ActiveRequests
    limit: Limit | None
    cors: Cors | None
    authentication: str
    channel: str
    middleware: tuple[Function, ...]
    session: SessionCookies | None = None
    by_name: NameLimits | None = None
    roles: frozenset[str] | None = None
    by_address: bool = False
    counted: str = ""


class Pipeline:
    """One endpoint's way from request to answer; made once per release."""

    __slots__ = (
        "active_requests", "admit", "admit_later", "answering", "apply_shapes", "by_name", "cors",
        "endpoint", "function", "has_folder", "has_shapes", "has_vars", "keep", "middleware",
        "once", "read", "reads", "receive", "route", "timeout_seconds", "typed", "unfolds",
    )  # fmt: skip

    def __init__(self, function: Function, policy: Policy, answering: Answering) -> None:
        self.function, self.answering = function, answering
        self.middleware, self.cors, self.route = policy.middleware, policy.cors, policy.path
        self.active_requests, self.timeout_seconds = policy.active_requests, policy.timeout_seconds
        every = (function, *policy.middleware)
        admission = Admission(
            policy.authentication, policy.limit, policy.channel, answering,
            shows_token=any("credential" in one.needs for one in every), session=policy.session,
            is_change=policy.method != "GET", roles=policy.roles, by_address=policy.by_address,
            counted=policy.counted,
        )  # fmt: skip
        self.admit, self.admit_later = admission.admit, admission.admit_later
        self.by_name = policy.by_name
        session = policy.session if policy.session is not None and policy.session.role else None
        self.keep = session.keep if session is not None else None
        self.unfolds = any(one.unfolds for one in every)
        self.typed = [
            one for one in policy.middleware if one.params is not None or one.query is not None
        ]
        self.has_folder = any(one.has_files for one in every)
        self.has_vars = any("vars" in one.needs for one in every)
        reading = Reading(
            policy.method, function, policy.middleware, answering, policy.max_body_bytes,
            policy.uploads, session.fills if session is not None else None,
            takes_key=policy.authentication == "API Key",
        )  # fmt: skip
        self.reads, self.has_shapes = reading.reads, reading.has_shapes
        self.read, self.apply_shapes = reading.read, reading.apply_shapes
        name = f"{policy.method} {policy.path}"
        self.once = (
            Once(function, name, policy.timeout_seconds, answering) if policy.is_once else None
        )
        self.endpoint = policy.endpoint
        self.receive = reading.receive if policy.uploads is not None else None

    async def __call__(self, scope: Any, receive: Any, send: Any, params: dict[str, str]) -> None:
        """Answer one request, in the time it has and for as long as its client waits."""
        active: ActiveRequest = scope["bbops"]
        active_requests, answering = self.active_requests, self.answering
        active.receive = receive
        active.task, active.answering = asyncio.current_task(active_requests.loop), answering
        active.timeout_seconds, active.route = self.timeout_seconds, self.route
        active.endpoint = self.endpoint
        active_requests.current.add(active)
        try:
            answer = await self.run(scope, receive, params, active)
            if type(answer[1]) is SentFile:
                active.timeout_seconds += SENDING_SECONDS
                await send_file(answering, send, scope, answer)
                return
            if type(answer[1]) is SentStream:
                active.is_streaming = True
                active_requests.note_change()  # releases wait no longer for this one
                await send_stream(answering, send, scope, answer)
                return
            unsent = answering.send_json(send, scope, answer)
            if unsent is not None:
                await answering.send(send, scope, *unsent)
        except Gone:
            pass
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - the last place
            await self.fail(scope, send, active, error)
        finally:
            active_requests.remove(active)
            for stream in active.streams:  # one that was sent is closed already
                await stream.close()

    async def fail(
        self, scope: Any, send: Any, active: ActiveRequest, error: BaseException
    ) -> None:
        """Answer a failure; a request that was ended from outside has one only if it was late."""
        try:
            if not isinstance(error, asyncio.CancelledError):
                if active.is_sent:  # a file that ended early: the connection closes, and tells it
                    self.answering.surprise(error, scope)
                    return
                await self.answering.fail(send, error, scope)
                return
        except asyncio.CancelledError as cancelled:
            error = cancelled
        if not active.ended_by or active.task is None:
            raise error
        active.task.uncancel()
        if active.ended_by == "timeout" and not active.is_sent:
            late = Thrown(503, "it took too long", headers={"retry-after": "1"})
            await self.answering.fail(send, late, scope)

    async def run(
        self, scope: Any, receive: Any, params: dict[str, str], active: ActiveRequest
    ) -> Answer:  # fmt: skip
        """Return what middleware or function answer.

        Raises:
            Exception: whatever they throw; Thrown, InvalidInput and TooLarge where the request
                does not reach them.
            Gone: the client left.
        """
        if self.cors is not None:
            active.lines = self.cors.lines(scope)
        # servers reject a plain NUL in a path, so that only an escape can be one
        if params and b"%" in (scope.get("raw_path") or b"%"):
            check_params(params)
        run = self.answering.run()
        run.params, run.trace = params, active
        if self.has_vars:
            run.vars = {}
        if self.has_folder:
            run.folder = active.folder
        if self.admit is not None:
            self.admit(run, scope)
        if self.admit_later is not None:
            await self.admit_later(run, scope)
        texts, body = await self.read(run, scope, receive) if self.reads else NOTHING_READ
        active.is_read = self.receive is None
        for function in self.middleware:
            if self.typed and function in self.typed:
                answer = await run_typed(function, run, texts)
            else:
                answer = await function.flow(run)
            if answer[1] is not NOTHING:
                break
        else:
            if self.receive is not None:
                active.timeout_seconds += RECEIVING_SECONDS
                body = await self.receive(scope, receive)
                active.timeout_seconds = self.timeout_seconds + perf_counter() - active.began
                active.is_read = True
            if self.has_shapes:
                self.apply_shapes(run, texts, body)
            if self.by_name is not None:
                check_name(self.by_name, run.input, scope)
            if self.once is None:
                answer = await self.function.flow(run)
            else:
                answer = await self.once.run(run, scope)
            if self.keep is not None:
                answer = self.keep(scope, answer)
        if self.unfolds:
            check_size(answer[1], MAX_ANSWER)
        return answer


class WithFolder:
    """A pipeline whose runs have files; the folder of each is gone when it has been answered."""

    __slots__ = ("cors", "files", "pipeline")

    def __init__(self, pipeline: Any, files: Files) -> None:
        self.pipeline, self.files, self.cors = pipeline, files, pipeline.cors

    async def __call__(self, scope: Any, receive: Any, send: Any, params: dict[str, str]) -> None:
        """Answer one request, see `Pipeline`."""
        folder = scope["bbops"].folder = self.files.open()
        try:
            await self.pipeline(scope, receive, send, params)
        finally:
            folder.remove()


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
