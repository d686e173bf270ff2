"""Topics of a linked release, and the permission to subscribe to them and publish on them."""

from __future__ import annotations

import asyncio
import marshal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bbops.runtime.flow.caching import Cache
from bbops.runtime.flow.run import Run
from bbops.runtime.http.in_flight import ActiveRequest, ActiveRequests
from bbops.runtime.http.request_decoding import read_request
from bbops.runtime.http.responses import Answering
from bbops.runtime.linking.functions import link_condition, resolve
from bbops.runtime.linking.pipeline import run_typed
from bbops.runtime.linking.release import Release
from bbops.runtime.realtime.rows import RowsRule
from bbops.runtime.realtime.topics import Kept, Params, Topic, Topics
from bbops.runtime.values.failures import NOTHING, FlowError, InvalidInput, Thrown
from bbops.runtime.values.shapes import compile_shape
from bbops.runtime.work.rows import ReadRows


def link_topics(artifact: bytes, release: Release) -> Topics:
    """Return the topics of an artifact. About 0.1 ms each."""
    data = marshal.loads(artifact)["topics"]  # noqa: S302 - our own file
    return Topics(_topic(one, release) for one in data)


def _topic(data: Mapping[str, Any], release: Release) -> Topic:
    say = release.answering.wording.say
    return Topic(
        name=data["name"],
        pattern=tuple(data["topic"].split("/")),
        needs_user=data["authentication"] == "JWT",
        middleware=tuple(release.functions[name] for name in data["middleware"]),
        subscribe=link_condition(data["subscribe"]),
        publish=link_condition(data["publish"]),
        show=None if data["show"] is None else link_condition(data["show"]),
        events={event: compile_shape(spec, say) for event, spec in data["events"].items()},
        history=Kept(*data["history"]) if data["history"] else None,
        recheck_seconds=data["recheck_seconds"],
        rows=_rows(data["rows"]) if data["rows"] else None,
        heard=frozenset(data["heard"]),
    )


def _rows(data: Mapping[str, Any]) -> RowsRule:
    columns = {name: resolve(how) if how else None for name, how in data["columns"].items()}
    return RowsRule(
        data["table"], ReadRows(columns), tuple(data["primary"]), tuple(data["select"]),
        link_condition(data["where"]) if data["where"] else None, tuple(data["key_columns"]),
        link_condition(data["key"]) if data["key"] else None,
    )  # fmt: skip


@dataclass(slots=True)
class Identity:
    """Who asks: what the connection began with, and who signed in on it.

    Attributes:
        scope: of the request that the connection began with.
        token: the one that counts now.
        claims: what the token says; None where nobody signed in.
    """

    scope: Any
    token: str | None = None
    claims: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What somebody may do on a topic.

    Attributes:
        shown: what others see of them; None where nobody is shown.
        values: the run in which it was decided, for conditions over rows.
    """

    may_subscribe: bool
    may_publish: bool
    shown: Any
    values: Run


class Judge:
    """Decides for one release."""

    def __init__(self, answering: Answering, active_requests: ActiveRequests) -> None:
        self.answering, self._active = answering, active_requests

    async def judge(self, topic: Topic, params: Params, identity: Identity) -> Verdict:
        """Return what somebody may do. The release does not end meanwhile.

        Raises:
            Thrown: 401 without a user where one is needed, or what middleware has thrown.
            Exception: whatever else middleware and conditions raise.
        """
        if topic.needs_user and identity.claims is None:
            raise Thrown(401)
        active = identity.scope["bbops"] = ActiveRequest()
        active.task, active.answering = asyncio.current_task(), self.answering
        self._active.current.add(active)
        try:
            async with asyncio.timeout(active.timeout_seconds):
                return await self._run(topic, params, identity)
        except TimeoutError:
            raise FlowError(f"it took longer than {active.timeout_seconds:g} s") from None
        finally:
            self._active.remove(active)

    async def _run(self, topic: Topic, params: Params, identity: Identity) -> Verdict:
        run = self._begin(params, identity, topic)
        try:
            return await self._decide(topic, run)
        finally:
            if run.folder is not None:
                run.folder.remove()

    async def _decide(self, topic: Topic, run: Run) -> Verdict:
        for function in topic.middleware:
            if function.params is not None or function.query is not None:
                answer = await run_typed(function, run, {})
            else:
                answer = await function.flow(run)
            if answer[1] is not NOTHING:  # it answers by itself, so nothing behind it is reached
                raise Thrown(403)
        shown = None if topic.show is None else topic.show(run)
        return Verdict(bool(topic.subscribe(run)), bool(topic.publish(run)), shown, run)

    def _begin(self, params: Params, identity: Identity, topic: Topic) -> Run:
        run = self.answering.run()
        run.cache, run.vars, run.params, run.query = Cache(), {}, dict(params), {}
        run.auth, run.credential = identity.claims, identity.token
        needs = frozenset[str]().union(*(function.needs for function in topic.middleware))
        if needs & {"headers", "request"}:
            run.headers, run.request = read_request(self.answering, identity.scope)
        if run.host.files is not None and any(function.has_files for function in topic.middleware):
            run.folder = run.host.files.open()
        return run

    def surprise(self, error: BaseException, identity: Identity) -> None:
        """Log a failure that is not a refusal, with its file and line."""
        if not isinstance(error, Thrown | InvalidInput):
            self.answering.surprise(error, identity.scope)
