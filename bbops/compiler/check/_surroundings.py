"""The names and types that a function can read, by every way on which it runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Self

from bbops.base.diagnostics import Hint, SetEntry
from bbops.base.names import title_of
from bbops.compiler.check._roles import find_roles
from bbops.compiler.check._ways import Graph, Way, dependencies, find_ways, joined_root
from bbops.language.expressions.known import FlowFacts
from bbops.language.expressions.types import (
    ANY,
    INTEGER,
    SECRET,
    TEXT,
    Type,
    joined,
    list_of,
    map_of,
)
from bbops.language.project import Authentication, Project, Resource
from bbops.language.resources.function import Function
from bbops.language.resources.webhook import FixedReceiver, ReceiverTable
from bbops.language.shape import Shape, shape_types
from bbops.language.steps._base import variables
from bbops.language.steps._ruled import RuleCaller
from bbops.language.steps._surroundings import Arguments, Hidden, SentWebhook, Topic

_ELSEWHERE = {
    "env": "declare it under 'env' in project.yaml",
    "event": "an event exists only in functions of triggers",
    "trigger": "it exists only in functions of database triggers",
    "job": "it exists only in functions that tasks, triggers, 'onDead' or 'enqueue' run",
    "error": "it exists only inside 'catch'",
    "row": "only 'where', and single columns of 'update' and 'do', have the stored row",
}
_REQUEST = map_of(dict.fromkeys(("id", "method", "path", "url", "ip", "body"), TEXT), "request")
_HEADERS = map_of({}, "headers", rest=TEXT.or_null())
_FILE = map_of({"path": TEXT, "name": TEXT, "size": INTEGER, "contentType": TEXT}, "the file")
ONLY_SOME = ("event", "trigger", "job")
"""Roots that only some ways to a function have."""

PARTS = ("input", "params", "query")
"""What a function is given, by a request or a call."""


def readable(project: ResolvedProject, name: str, private: Hidden) -> dict[str, Type]:
    """Return the types of `input`, `params`, `env` … for one function.

    Args:
        private: arguments that hold something private, in a call that gives them.
    """
    model, ways = project.functions[name].model, project.ways_to(name)
    found = {"env": project.env_type}
    if not _lacks_request(project, name):
        found |= {"headers": _HEADERS, "request": _REQUEST}
    if not _lacks_arguments(project, name):
        is_open = any(way.has_request for way in ways) and not model.strict_query
        found["query"] = _given(model.query, "query", open_=is_open)
        found["params"] = _params(project, name, model.params)
        found["input"] = _input(ways, model.input)
    for root in ONLY_SOME:
        if ways and all(root in way.given for way in ways) and name not in project.callers:
            found[root] = joined_root(ways, root)
    for root, authentication in _SIGNED_IN:
        if not _why_unsigned(project, name, authentication):
            of = project.caller_types[root]
            found[root] = of.or_null() if any(_is_optional(way) for way in ways) else of
    for part, argument, is_secret in private:
        fields = found[part].fields or {}
        if argument in fields:
            of = replace(fields[argument], private=True)
            of = replace(of, what=SECRET) if is_secret else of
            found[part] = replace(found[part], fields={**fields, argument: of})
    return found


def missing(project: ResolvedProject, function: Resource[Function]) -> dict[str, str]:
    """Return why names that exist elsewhere do not exist in this function, for hints."""
    name, model, ways = function.name, function.model, project.ways_to(function.name)
    found = dict(_ELSEWHERE)
    if any(way.is_middleware for way in ways):
        found["input"] = "middleware runs before the body is read"
    elif model.input is None:
        found["input"] = "declare its fields under 'input' of this function"
    if not model.params and not any(way.parameters for way in ways):
        found["params"] = "declare them under 'params' of this function"
    if why := _lacks_request(project, name):
        found |= {"headers": why, "request": why}
    if why := _lacks_arguments(project, name):
        found |= {"input": why, "params": why, "query": why}
    for root, authentication in _SIGNED_IN:
        if why := _why_unsigned(project, name, authentication):
            found[f"vars.{root}"] = why
    for root in ONLY_SOME:
        other = next((way.what for way in ways if root not in way.given), None)
        if other is not None and any(root in way.given for way in ways):
            found[root] = f"{other} runs this function too, and has none"
    if project.settings.model.auth is None:
        found["no-auth"] = "add 'auth: { signingKey: … }' to project.yaml"
    return found


def _lacks_request(project: ResolvedProject, name: str) -> str:
    """Return why a function has no request; empty when every way to it has one."""
    for way in project.ways_to(name):
        if not way.has_request:
            return f"{way.what} runs this function, and has no request"
    if name in project.callers:
        return f"{title_of(project.callers[name])} calls this one; pass it as 'input'"
    return ""


def _lacks_arguments(project: ResolvedProject, name: str) -> str:
    for way in project.ways_to(name):
        if not way.has_arguments:
            return f"{way.what} runs this function, and gives it no arguments"
    return ""


def _why_unsigned(project: ResolvedProject, name: str, authentication: Authentication) -> str:
    """Return why a function has no `vars.auth`, or no `vars.apiKey`; empty when it has."""
    ways = project.ways_to(name)
    for way in ways:
        is_known = authentication == "JWT" and _is_optional(way)
        if way.authentication == "API Key" and authentication == "JWT" and way.has_request:
            return _for_keys(way)
        if way.authentication != authentication and not is_known:
            return f"{way.what} {_who(way)}"
    if name in project.callers:
        return f"{title_of(project.callers[name])} calls this one; pass the user as 'input'"
    if authentication != "JWT" and not ways:
        return f"no endpoint of this function has authentication: {authentication}"
    return ""


def asking(project: ResolvedProject, name: str) -> RuleCaller:
    """Return the callers of a function, also through other functions, as rules of tables see them.

    O(functions that lead to it) for the first time.
    """
    known = project.asking_by_function
    if name not in known:
        known[name] = _find_asking(project, name)
    return known[name]


def _find_asking(project: ResolvedProject, name: str) -> RuleCaller:
    ways = project.ways_from(name)
    users, keys = ({way.authentication for way in ways} <= {one} for one in ("JWT", "API Key"))
    types = project.caller_types
    lacking = next((way for way in ways if way.authentication != "JWT"), None)
    without = ""
    if lacking is not None:
        without = f"{lacking.what} {'may have' if _is_optional(lacking) else 'has'} none"
    return RuleCaller(
        {
            "auth": types["auth"] if users else types["auth"].or_null(),
            "apiKey": types["apiKey"] if ways and keys else types["apiKey"].or_null(),
        },
        without,
    )


def _for_keys(way: Way) -> str:
    """Return why a route of API keys has no user, and what to do about it."""
    text = (
        f"{way.what} has authentication: API Key, whose callers have no user: write"
        " 'authentication: JWT' there, or give it a function that reads 'vars.apiKey'"
    )
    endpoint = _ENDPOINT(way.what)
    if endpoint is None:
        return text
    return Hint(text, SetEntry("authentication", "JWT", f"endpoints/{endpoint[1]}.yaml"))


_ENDPOINT = re.compile(r"endpoint '([a-z0-9/-]+)'").fullmatch


def _is_optional(way: Way) -> bool:
    """Return whether there may be a user, and may be none."""
    return way.authentication == "Optional"


def _who(way: Way) -> str:
    if way.has_request:
        return f"has authentication: {way.authentication}"
    return "can run without a user" if way.has_arguments else "has no user"


def arguments(model: Function) -> tuple[dict[str, Type], Arguments]:
    """Return what a call may give a function, and what it must."""
    shapes: dict[str, Shape] = {part: getattr(model, part) or {} for part in PARTS}
    types = {part: map_of(shape_types(shape, given=True)) for part, shape in shapes.items()}
    required = {
        (part, name) for part, shape in shapes.items() for name, field in shape.items()
        if not name.endswith("?") and field.default is None
    }  # fmt: skip
    return types, frozenset(required)


_SIGNED_IN: Final[tuple[tuple[str, Authentication], ...]] = (("auth", "JWT"), ("apiKey", "API Key"))


def _input(ways: tuple[Way, ...], shape: Shape | None) -> Type:
    """Return the type of `input`: the declared fields, and the files of the endpoints."""
    found: dict[str, Type] = {}
    for name in dict.fromkeys(name for way in ways for name in way.files):
        uploads = [way.files.get(name) for way in ways]
        of = list_of(_FILE) if any(one and one.many for one in uploads) else _FILE
        is_sure = all(uploads) and not name.endswith("?")
        found[name.rstrip("?")] = of if is_sure else of.or_null()
    return map_of({**found, **shape_types(shape or {})}, "input")


def _given(shape: Shape | None, what: str, *, open_: bool) -> Type:
    return map_of(shape_types(shape or {}), what, rest=TEXT.or_null() if open_ else None)


def _params(project: ResolvedProject, name: str, shape: Shape | None) -> Type:
    """A path parameter that is not declared may be null where not every way here has it."""
    ways, found = project.ways_to(name), {}
    for parameter in dict.fromkeys(one for way in ways for one in way.parameters):
        always = all(parameter in way.parameters for way in ways)
        sure = always and name not in project.callers
        found[parameter] = TEXT if sure else TEXT.or_null()
    return map_of({**found, **shape_types(shape or {})}, "params")


@dataclass(frozen=True)
class ResolvedProject(Project):
    """A project whose declarations are resolved, each when it is asked for first: O(resources)."""

    @classmethod
    def of(cls, project: Project) -> Self:
        """Return a project as one of these; itself if it is one."""
        if isinstance(project, cls):
            return project
        found = object.__new__(cls)
        vars(found).update(vars(project))  # with what it has found out about itself
        return found

    @cached_property
    def ways(self) -> Mapping[str, tuple[Way, ...]]:
        """The ways to each function that is reached."""
        return find_ways(self)

    def ways_to(self, function: str) -> tuple[Way, ...]:
        """Return every way to a function."""
        return self.ways.get(function, ())

    @cached_property
    def asking_by_function(self) -> dict[str, RuleCaller]:
        """Results of `_surroundings.asking`, by function."""
        return {}

    def ways_from(self, function: str) -> tuple[Way, ...]:
        """Return every way to a function and to those that call it, directly or not."""
        found, todo = dict[str, None]({function: None}), [function]
        while todo:
            more = [one for one in self.calling.get(todo.pop(), ()) if one not in found]
            found |= dict.fromkeys(more)
            todo += more
        return tuple(way for name in found for way in self.ways_to(name))

    @cached_property
    def calling(self) -> Mapping[str, tuple[str, ...]]:
        """For each function that others call: these."""
        found: dict[str, tuple[str, ...]] = {}
        for name, callees in self.callees.items():
            for callee in callees:
                found[callee] = (*found.get(callee, ()), name)
        return found

    @cached_property
    def graph(self) -> Graph:
        """The functions that each function builds on."""
        return dependencies(self, self.ways)

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """The roles that its tokens may have; empty where nobody knows."""
        return find_roles(self)

    @cached_property
    def topics(self) -> Mapping[str, Topic]:
        """Each topic by its file's name."""
        return find_topics(self)

    @cached_property
    def sent_webhooks(self) -> Mapping[str, SentWebhook]:
        """Each webhook that is sent, by its file's name."""
        return find_webhooks(self)

    @cached_property
    def payloads(self) -> Mapping[str, Sequence[Type]]:
        """The payloads that functions declare of each event that something waits for."""
        return find_payloads(self)

    @cached_property
    def env_type(self) -> Type:
        """The type of `env`."""
        return env_type(self)

    @cached_property
    def caller_types(self) -> Mapping[str, Type]:
        """The types of `vars.auth` and `vars.apiKey`, by their names."""
        return {"auth": auth_type(self), "apiKey": api_key_type()}


# ---- The types of `env`, `vars.auth` and `vars.apiKey`, which all functions of a project share


def env_type(project: Project) -> Type:
    """Return the type of `env`."""
    fields: dict[str, Type] = {}
    for name, variable in project.settings.model.env.items():
        of = replace(TEXT, private=True, what=SECRET) if variable.secret else TEXT
        given = variable.required or variable.default is not None or variable.generate
        fields[name] = of if given else of.or_null()
    return map_of(fields, "env")


def auth_type(project: Project) -> Type:
    """Return the type of `vars.auth`, wherever there is one."""
    user = TEXT
    auth = project.settings.model.auth
    table = project.sql_tables.get(auth.users or "") if auth else None
    if table is not None and len(table.key) == 1:
        # another issuer may write its ids in another form
        user = replace(table.columns[table.key[0]].value_type, form="")
    fields = {"userId": user, "email": TEXT.or_null(), "role": TEXT.or_null(), "claims": ANY}
    return map_of(fields, "vars.auth")


def api_key_type() -> Type:
    """Return the type of `vars.apiKey`, wherever there is one."""
    return map_of({"id": TEXT, "name": TEXT, "claims": ANY}, "vars.apiKey")


# ---- What is known when a function begins: the variables that middleware has set before it

LeftBy = Callable[[str], FlowFacts | None]
"""Gives what a middleware leaves behind; None while it is itself under check."""


def known_before(project: ResolvedProject, name: str, left_by: LeftBy) -> tuple[FlowFacts, bool]:
    """Return what is known before a function's first step, and whether that is all.

    It is not where middleware could not be read as it stands. A variable that some way to the
    function does not set is not set. A function that nothing runs yet, such as a copy, may get an
    endpoint behind any middleware, so that it has
    the variables of all that it does not set, of any type.
    """
    ways: dict[tuple[str, ...], str] = {}
    to_it = project.ways_to(name)
    if not to_it and name not in project.callers and name not in project.middleware:
        every = [project.functions[one] for one in project.middleware if one in project.functions]
        own = {*variables(project.functions[name].model.steps)}
        names = sorted({of for one in every for of in variables(one.model.steps)} - own)
        return FlowFacts(dict.fromkeys(names, ANY)), True
    for way in to_it:
        ways.setdefault(way.before, f"{way.what} does not run the middleware that sets it")
    if name in project.callers:
        why = f"{title_of(project.callers[name])} calls this one, which has its own variables"
        ways.setdefault((), why)
    is_complete = all(_is_right(project, one) for chain in ways for one in chain)
    ends = [(why, left_by_chain(project, chain, left_by)) for chain, why in ways.items()]
    return _common(ends), is_complete


def _is_right(project: ResolvedProject, middleware: str) -> bool:
    function = project.functions.get(middleware)
    return function is not None and function.file not in project.repaired


def left_by_chain(project: ResolvedProject, chain: tuple[str, ...], left_by: LeftBy) -> FlowFacts:
    """Return what middleware that runs one after the other leaves behind."""
    found = FlowFacts()
    for middleware in chain:
        if middleware not in project.functions:
            continue
        left = left_by(middleware)
        if left is None:  # the two run before each other
            names = variables(project.functions[middleware].model.steps)
            left = FlowFacts(dict.fromkeys(names, ANY))
        for name in left.vars:
            found.set(name, left.variable(name))
        for name, why in left.unset.items():
            if name not in found.vars:
                found.unset[name] = why or f"middleware '{middleware}' sets it on some paths only"
    return found


def _common(ends: list[tuple[str, FlowFacts]]) -> FlowFacts:
    found = FlowFacts()
    for name in dict.fromkeys(name for _, end in ends for name in {**end.vars, **end.unset}):
        lacking = next(((why, end) for why, end in ends if name not in end.vars), None)
        if lacking is None:
            found.vars[name] = joined([end.vars[name] for _, end in ends])
        else:
            why, end = lacking
            found.unset[name] = end.unset.get(name, why)
    return found


# ---- What the project says of events: payloads of triggers' functions, of realtime, of webhooks


def find_topics(project: Project) -> Mapping[str, Topic]:
    """Return each topic by its file's name, with the payloads of its events as given to it."""
    found: dict[str, Topic] = {}
    for name, realtime in project.realtime.items():
        events = {
            event: map_of(shape_types(shape, given=True), f"event '{event}'")
            for event, shape in realtime.model.events.items()
        }
        found[name] = Topic(realtime.model.parameters, events)
    return found


def find_webhooks(project: Project) -> Mapping[str, SentWebhook]:
    """Return each webhook by its file's name, with the payloads of its events as given to it."""
    found: dict[str, SentWebhook] = {}
    for name, webhook in project.webhooks.items():
        events = {
            event: map_of(shape_types(shape, given=True), f"event '{event}'")
            for event, shape in webhook.model.events.items()
        }
        found[name] = SentWebhook(events, _owner(project, webhook.model.receivers))
    return found


def _owner(project: Project, receivers: ReceiverTable | Sequence[FixedReceiver]) -> str | None:
    """Return the kind of the column that says whose a receiver is; None without one."""
    if not isinstance(receivers, ReceiverTable) or receivers.owner is None:
        return None
    table = project.stored_tables.get(receivers.table)
    column = table.columns.get(receivers.owner) if table else None
    return "integer" if column and column.type in {"integer", "bigint"} else "text"


def find_payloads(project: Project) -> Mapping[str, Sequence[Type]]:
    """Return for each event that something waits for the payloads that functions declare."""
    found: dict[str, list[Type]] = {}
    for trigger in project.triggers.values():
        function = project.functions.get(trigger.model.function)
        for event in trigger.model.event or ():
            types = found.setdefault(event, [])
            if function is not None and function.model.payload is not None:
                what = f"the payload of '{function.name}'"
                types.append(map_of(shape_types(function.model.payload, given=True), what))
    for function in project.functions.values():
        for step in function.model.every_step:
            if (heard := step.hears()) is not None:
                found.setdefault(heard, [])
    for agent in project.agents.values():
        started = agent.model.runs_on.event
        for event in started.event if started is not None else ():
            found.setdefault(event, [])
    return found
