"""Link an artifact into a Release: code objects become functions, routes become pipelines."""

from __future__ import annotations

import asyncio
import marshal
from collections.abc import Awaitable, Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import MAGIC_NUMBER
from time import perf_counter
from typing import Any, Final, Required, TypedDict, Unpack

from bbops.base.host import Clock
from bbops.runtime.auth.tokens import PATH, publish_keys
from bbops.runtime.data.statements import Statement
from bbops.runtime.flow.masking import Mask
from bbops.runtime.flow.run import Function
from bbops.runtime.http.cors import ChannelPolicies, Cors, Unmatched
from bbops.runtime.http.errors import Entry, Wording
from bbops.runtime.http.exchanges import WithHistory
from bbops.runtime.http.in_flight import ActiveRequest, ActiveRequests
from bbops.runtime.http.rate_limits import (
    SIGN_INS_FROM_ANYWHERE,
    SIGN_INS_PER_ADDRESS,
    SIGN_INS_PER_NAME,
    Limit,
    NameLimits,
)
from bbops.runtime.http.responses import Answering, Record, SendWhole
from bbops.runtime.http.routes import RouteTable
from bbops.runtime.http.uploads import Uploads
from bbops.runtime.linking.agents import link_chats
from bbops.runtime.linking.auth import link_credentials, link_session, link_tokens
from bbops.runtime.linking.functions import FunctionParts, resolve
from bbops.runtime.linking.identities import link_sign_ins
from bbops.runtime.linking.lasting import Lasting
from bbops.runtime.linking.pipeline import Pipeline, Policy, WithFolder
from bbops.runtime.linking.webhooks import link_sent_webhooks, link_webhooks
from bbops.runtime.values.failures import FlowError
from bbops.runtime.values.fields import say_plainly
from bbops.runtime.values.units import MAX_BODY, size_bytes
from bbops.runtime.vendors import link_addons
from bbops.runtime.work.events import EventOutbox
from bbops.runtime.work.rows import event_table
from bbops.runtime.work.sent_webhooks import OutgoingWebhook

_MAX_BODY_BYTES: Final = size_bytes(MAX_BODY)

FUEL = 100_000
"""Loop rounds and calls that one request may spend."""


FORMAT = f"15 {MAGIC_NUMBER.hex()}"
"""Of artifacts: how they are laid out, and whose byte code is in them."""

SLICE_SECONDS = 0.001
"""How long linking keeps the event loop at a time."""

Beside = Callable[[Any, Any], Awaitable[bool]]
"""Answers a request, or returns False with nothing sent."""


class Release:
    """What is served: immutable once linked, and named by its commit."""

    def __init__(
        self,
        table: RouteTable[Any],
        functions: Mapping[str, Function],
        answering: Answering,
        active_requests: ActiveRequests,
        policies: ChannelPolicies,
    ) -> None:
        self.name, self.table, self.functions = answering.name, table, functions
        self.unmatched = Unmatched(table, answering, policies)
        self.answering, self.active_requests = answering, active_requests
        self.spaces: list[dict[str, Any]] = []
        self.beside: Beside | None = None
        """Is asked what no route answers, by any method."""
        self.key_channels = frozenset[str]()
        self.env: Mapping[str, str | None] = {}
        """What it was linked with."""
        self.addons: Mapping[str, Any] = {}
        """Those that it declares, enabled or not, as `bbops.runtime.vendors` links them."""
        self.has_work = False
        """Whether something is to run outside of requests."""
        self.tasks: Mapping[str, Mapping[str, Any]] = {}
        """Enabled tasks as they were compiled, by names such as `tasks/nightly`."""
        self.routes: Sequence[tuple[str, str]] = ()
        """Method and path of each."""
        self.triggers: Mapping[str, Sequence[str]] = {}
        """The events that each trigger waits for."""
        self.sent: Mapping[str, OutgoingWebhook] = {}
        """The webhooks that it sends, by their names."""

    def __call__(self, scope: Any, receive: Any, send: Any) -> Awaitable[None]:
        """Answer one request; a request that began here ends here, whatever is swapped."""
        method, raw = scope["method"], scope.get("raw_path")
        path = raw.decode("latin-1") if raw else scope["path"]
        scope["bbops"] = ActiveRequest()
        target, found = self.table.match("GET" if method == "HEAD" else method, path)
        if target is not None:
            answer: Awaitable[None] = target(scope, receive, send, found)
            return answer
        if self.beside is not None and not found:
            return self._ask_beside(self.beside, scope, send, path)
        return self.unmatched.answer(scope, send, path, tuple(found))

    async def _ask_beside(self, beside: Beside, scope: Any, send: Any, path: str) -> None:
        if not await beside(scope, send):
            await self.unmatched.answer(scope, send, path, ())

    @property
    def in_flight(self) -> int:
        """How many requests began here and are under way. O(requests under way).

        Without answers that go on as a stream: their functions have ended, they use no database,
        and no release waits for them.
        """
        return sum(not one.is_streaming for one in self._under_way())

    @property
    def is_answering(self) -> bool:
        """Whether any request that began here is under way, also as a stream."""
        return any(True for _ in self._under_way())

    def _under_way(self) -> Iterator[ActiveRequest]:
        return (one for one in self.active_requests.current if one.answering is self.answering)

    async def prepare(self) -> None:
        """Fetch the keys that others publish; where that fails, tokens of theirs are refused."""
        tokens = self.answering.tokens
        await asyncio.gather(*(one.look_again() for one in tokens.sets if not one.keys)
                             if tokens else ())  # fmt: skip

    def statements(self) -> Iterator[str]:
        """Yield every SQL text of the release, for the smoke test."""
        for space in self.spaces:
            yield from statements_of(space)

    def close(self) -> None:
        """Free the functions of a drained release: their name spaces are reference cycles."""
        for space in self.spaces:
            space.clear()
        self.spaces.clear()


def statements_of(space: Mapping[str, Any]) -> Iterator[str]:
    """Yield every SQL text of a function's name space."""
    for value in space.values():
        if isinstance(value, Statement):
            yield from value.samples()


class Given(TypedDict, total=False):
    """What a release is linked with; without a default are `name`, `host` and `env`.

    Attributes:
        name: the first 12 hex digits of the commit; every answer carries it.
        env: a value for every variable that the artifact declares.
        detailed: answers to failures tell file and line; only for `bbops dev`.
        lasting: what goes on from the release before.
        history: takes every answer.
        send_whole: a server's shorter way to answer.
        url: where the project answers, as people know it.
    """

    name: Required[str]
    host: Required[Any]
    env: Required[Mapping[str, str | None]]
    detailed: bool
    lasting: Lasting
    history: Record | None
    send_whole: SendWhole | None
    url: str


def link(artifact: bytes, **given: Unpack[Given]) -> Release:
    """Make a Release of an artifact at once; see `linking`."""
    steps = linking(artifact, **given)
    while True:
        try:
            next(steps)
        except StopIteration as done:
            release: Release = done.value
            return release


async def link_in_slices(artifact: bytes, **given: Unpack[Given]) -> Release:
    """Make a Release while other requests are answered: never for longer than SLICE_SECONDS."""
    steps = linking(artifact, **given)
    until = perf_counter() + SLICE_SECONDS
    while True:
        try:
            next(steps)
        except StopIteration as done:
            release: Release = done.value
            return release
        if perf_counter() > until:
            await asyncio.sleep(0)
            until = perf_counter() + SLICE_SECONDS


def linking(artifact: bytes, **given: Unpack[Given]) -> Generator[None, None, Release]:
    """Make a Release of an artifact, a function or a route at a time. No I/O.

    About 10 ms for 1,000 functions in all. Functions that the release before has, too, share its
    parts.
    """
    data = marshal.loads(artifact)  # noqa: S302 - our own file, see bbops.compiler.compile.release
    if data["format"] != FORMAT:  # the byte code of another Python would crash this one
        raise FlowError("the release was built by another version; publish it again")
    heard = _heard_tables(data)
    if heard and isinstance(given["host"].events, EventOutbox):
        given["host"] = replace(
            given["host"], database=given["host"].events.notifying_database(heard)
        )
    wording = _wording(data["wording"], given["host"])
    lasting = given.get("lasting") or Lasting()
    is_plain = not data["wording"]["messages"]  # other messages depend on the release
    say = say_plainly if is_plain else wording.say
    known, shared = lasting.functions if is_plain else {}, dict[bytes, FunctionParts]()
    functions: dict[str, Function] = {}
    called: dict[str, Collection[str]] = {}
    spaces: list[tuple[Mapping[str, str], dict[str, Any]]] = []
    for packed in data["functions"]:
        parts = known.get(packed)
        if parts is None:
            parts = FunctionParts.make(marshal.loads(packed), say)  # noqa: S302 - a part of it
        if is_plain:
            shared[packed] = parts
        function, space = parts.link()
        functions[function.name] = function
        spaces.append(({**parts.calls, **parts.starts}, space))
        called[function.name] = parts.calls.values()
        yield
    for calls, space in spaces:
        for local, callee in calls.items():
            space[local] = functions[callee]
    mark_files(functions, called)
    answering = _answering(data, wording, lasting, given)
    table: RouteTable[Any] = RouteTable()
    for route in data["routes"]:
        target = _pipeline(route, functions, answering, lasting, data)
        table.add(route["method"], route["path"], target)
        answering.mask.add(route["path"])
        yield
    base_url, requests = given.get("url", ""), lasting.active_requests
    for method, path, target in _other_routes(data, given["env"], answering, lasting, base_url):
        table.add(method, path, target)
    published = publish_keys(answering.tokens, answering.name)
    if published is not None:
        table.add("GET", PATH, published)
    release = Release(table, functions, answering, requests, ChannelPolicies(data["channels"]))
    release.spaces = [space for _, space in spaces]
    release.routes = [(route["method"], route["path"]) for route in data["routes"]]
    release.has_work, release.env = data["work"] is not None, given["env"]
    release.addons = data["addons"]
    release.tasks = {one["name"]: one for one in _parts(data, "tasks")}
    release.triggers = {one["name"]: one["events"] for one in _parts(data, "triggers")}
    if sent := _parts(data, "sent"):
        release.sent = link_sent_webhooks(sent, given["env"])
    release.key_channels = frozenset(
        route["channel"] for route in data["routes"] if route["authentication"] == "API Key"
    )
    lasting.functions = shared
    return release


def _other_routes(
    data: Mapping[str, Any], env: Mapping[str, Any], answering: Answering, lasting: Lasting,
    base_url: str,
) -> Iterator[tuple[str, str, Any]]:  # fmt: skip
    """Yield the routes of webhooks, of sign-ins with other services, and of chats with agents."""
    if data["webhooks"]:
        for path, webhook in link_webhooks(data, env, answering, lasting, base_url):
            yield "POST", path, webhook
    if data["auth"] and data["auth"]["providers"]:
        yield from link_sign_ins(data, env, answering, lasting, base_url)
    if data["chats"]:
        for method, path, chat in link_chats(data, answering, lasting):
            answering.mask.add(path)
            yield method, path, chat


def mark_files(functions: Mapping[str, Function], called: Mapping[str, Collection[str]]) -> None:
    """Set `has_files` of functions whose steps, or whose callees' steps, have files. O(calls)."""
    callers = dict[str, list[str]]()
    for name, callees in called.items():
        for callee in callees:
            callers.setdefault(callee, []).append(name)
    todo = [name for name, function in functions.items() if "folder" in function.needs]
    while todo:
        name = todo.pop()
        if not functions[name].has_files:
            functions[name].has_files = True
            todo += callers.get(name, ())


def _heard_tables(data: Mapping[str, Any]) -> frozenset[str]:
    """Return the tables whose changed rows run something."""
    waiting = [one for one in _parts(data, "triggers") if one["columns"] is not None]
    return frozenset(event_table(event) for one in waiting for event in one["events"])


def _parts(data: Mapping[str, Any], kind: str) -> Sequence[Mapping[str, Any]]:
    """Return the triggers, tasks or sent webhooks of an artifact."""
    return data["work"][kind] if data["work"] else ()


def _answering(
    data: Mapping[str, Any], wording: Wording, lasting: Lasting, given: Given
) -> Answering:  # fmt: skip
    env = given["env"]
    secrets = [env.get(name) for name, declared in data["env"].items() if declared["secret"]]
    return Answering(
        given["name"], given["host"], dict(env),
        link_tokens(data["auth"], env, given["host"], lasting),
        fuel=FUEL, detailed=given.get("detailed", False), history=given.get("history"),
        send_whole=given.get("send_whole"),
        mask=Mask(secrets, data["private"]), addons=link_addons(data["addons"], env, given["host"]),
        wording=wording, credentials=link_credentials(data["auth"], data["session"]),
        key_uses=lasting.key_uses,
    )  # fmt: skip


def _wording(data: Mapping[str, Any], host: Any) -> Wording:
    entries = {
        code: Entry(one["status"], _worded(one["value"])) for code, one in data["answers"].items()
    }
    messages = {rule: _worded(one) for rule, one in data["messages"].items()}
    return Wording(entries, messages, host)


def _worded(data: Mapping[str, Any] | None) -> Any:
    if data is None:
        return None
    space: dict[str, Any] = {"__builtins__": {}}
    space |= {local: resolve(target) for local, target in data["uses"].items()}
    exec(data["code"], space)  # noqa: S102 - as a function's
    return space["worded"]


def _pipeline(
    route: Mapping[str, Any],
    functions: Mapping[str, Function],
    answering: Answering,
    lasting: Lasting,
    data: Mapping[str, Any],
) -> Callable[..., Any]:
    cors, session = route["cors"], data["session"]
    limit, by_name = _limits(route, data["sign_ins"], lasting, answering.host.clock)
    exposes = [one for one in (session["rules"]["csrf_header"],) if one] if session else []
    policy = Policy(
        method=route["method"],
        path=route["path"],
        endpoint=route["endpoint"],
        max_body_bytes=route["max_body_bytes"] or _MAX_BODY_BYTES,
        uploads=Uploads(route["files"], route["max_body_bytes"]) if route["files"] else None,
        is_once=route["is_once"],
        limit=limit,
        by_name=by_name,
        timeout_seconds=route["timeout_seconds"],
        active_requests=lasting.active_requests,
        cors=Cors(cors, exposes) if cors else None,
        authentication=route["authentication"],
        channel=route["channel"] or "",
        middleware=tuple(functions[name] for name in route["middleware"]),
        session=link_session(session, route["endpoint"], cors),
        roles=frozenset(route["roles"]) if route["roles"] else None,
        by_address=bool(route["rate_limit"] and route["rate_limit"]["by_address"]),
        counted=route["rate_limit"]["name"] if route["rate_limit"] else "",
    )
    target: Callable[..., Any]
    target = pipeline = Pipeline(functions[route["function"]], policy, answering)
    if (policy.uploads or pipeline.has_folder) and answering.host.files is not None:
        target = WithFolder(target, answering.host.files)
    if route["history"] != "meta" and answering.history is not None:
        target = WithHistory(target, answering.mask, is_kept=route["history"] == "full")
    return target


def _limits(
    route: Mapping[str, Any], sign_ins: Sequence[str], lasting: Lasting, clock: Clock
) -> tuple[Limit | None, NameLimits | None]:
    """Return what counts the requests of a client, and the sign-ins under one name."""
    limit, endpoint, given = None, route["endpoint"], route["rate_limit"]
    if given:
        limit = lasting.limit(given["counter"], given["most"], clock, given["seconds"])
    if endpoint not in sign_ins:
        return limit, None
    # no channel has a name with a blank
    return limit or lasting.limit(f"sign in {endpoint}", SIGN_INS_PER_ADDRESS, clock), NameLimits(
        lasting.limit(f"name of {endpoint}", SIGN_INS_PER_NAME, clock),
        lasting.limit(f"anybody at {endpoint}", SIGN_INS_FROM_ANYWHERE, clock),
    )
