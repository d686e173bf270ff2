"""Access that grows, and conditions for callers that are removed or changed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest
from typing import Any, NamedTuple

from bbops.base.diagnostics import Place
from bbops.base.names import env_name
from bbops.compiler.check import CheckedProject
from bbops.language.expressions.inside import conjuncts
from bbops.language.expressions.values import Constant, Expression
from bbops.language.project import OPEN, Resource, Route
from bbops.language.resources._access import RateLimit
from bbops.language.resources.channel import Cors
from bbops.language.resources.function import Function
from bbops.language.resources.trigger import Signature
from bbops.language.steps._base import Step
from bbops.language.steps.if_ import If
from bbops.language.steps.return_ import Return
from bbops.language.steps.throw import Throw
from bbops.review.plan.agents import find_opened_agents
from bbops.review.plan.breaking import authentication_place, webhook_key, webhook_paths
from bbops.review.plan.changes import Pairs, address, cors, reached, run_by, shown_roles, title
from bbops.review.plan.codes import Finding, finding, sort_findings
from bbops.review.plan.opened import find_opened
from bbops.review.plan.reach import find_reached
from bbops.review.plan.rules import find_loosened_rules
from bbops.review.plan.table_rules import find_loosened_matches, find_loosened_tables
from bbops.review.plan.topics import find_added_receivers, find_opened_topics
from bbops.source.yaml.document import Mark

_CLOSED = {"JWT", "API Key"}
_LOOKED = 5
"""The most columns whose routes are searched: each search checks all functions."""


def find_access(pairs: Pairs) -> tuple[Finding, ...]:
    """Return every place with more access than before."""
    found: list[Finding] = []
    for pair in pairs.other_routes:
        if pair.base is not None and pair.head is not None:
            found += _of_routes(pairs, pair.base, pair.head)
    found += find_opened(pairs)
    found += _signatures(pairs)
    found += find_added_receivers(pairs)
    found += find_opened_topics(pairs)
    found += find_opened_agents(pairs)
    found += _private_columns(pairs)
    found += find_changed_guards(pairs)
    found += find_reached(pairs)
    found += find_loosened_tables(pairs)
    found += find_loosened_matches(pairs)
    found += find_loosened_rules(pairs.base.settings, pairs.head.settings)
    return sort_findings(found)


# ---- routes
def _of_routes(pairs: Pairs, base: Route, head: Route) -> Iterator[Finding]:
    place = authentication_place(head)
    if base.authentication in _CLOSED and head.authentication == "None":
        message = f"is now public; it required {base.authentication}"
        yield finding("authentication-removed", title(head), message, place)
    if base.authentication in _CLOSED and head.authentication == "Optional":
        message = f"now also answers without a token; it required {base.authentication}"
        yield finding("authentication-optional", title(head), message, place)
    yield from _roles(base, head)
    for code, key, message in _of_surroundings(pairs, base, head):
        at = _said_in(base, head, key)
        if at is not head.endpoint and _is_same_channel(pairs, base, head):
            yield finding(code, f"channel {at.name}", message, at.place(key))
        else:
            shown = key if key in head.endpoint.document.root else "channel"
            yield finding(code, title(head), message, head.endpoint.place(shown))


def _roles(base: Route, head: Route) -> Iterator[Finding]:
    """Yield the routes open to more roles; open routes are reported already."""
    if base.roles is None or head.authentication in OPEN:
        return
    had, place = shown_roles(base), head.saying("roles").place("roles")
    if head.roles is None:
        who = "every signed-in user" if head.authentication == "JWT" else "every key"
        message = f"now lets in {who}; it required one of the roles {had}"
        yield finding("roles-loosened", title(head), message, place)
    elif more := sorted(head.roles - base.roles):
        message = f"now lets in the role {', '.join(more)}; it required one of {had}"
        yield finding("roles-loosened", title(head), message, place)


def _said_in(base: Route, head: Route, key: str) -> Resource[Any]:
    """Return the file of the new project that changes a key."""
    is_own = key in base.endpoint.document.root or key in head.endpoint.document.root
    return head.endpoint if is_own or head.channel is None else head.channel


def _of_surroundings(pairs: Pairs, base: Route, head: Route) -> Iterator[tuple[str, str, str]]:
    """Yield (code, key, message) of channel settings that apply to all its routes."""
    was, now = base.rate_limit, head.rate_limit
    if was is not None and _is_raised(was, now):
        yield "rate-limit-raised", "rateLimit", f"{_allowed(now)}, it had {_allowed(was)}"
    for message in _wider(cors(base), cors(head)):
        yield "cors-widened", "cors", message
    kept = run_by(pairs.head, head)
    for name in dict.fromkeys(base.middleware):
        if pairs.new_name("functions", name) not in kept:
            yield "middleware-removed", "middleware", f"'{name}' no longer runs before it"


def _is_raised(base: RateLimit, head: RateLimit | None) -> bool:
    """Return whether a client may send more at once, or in the long run."""
    if head is None or head.a_minute > base.a_minute or head.at_once > base.at_once:
        return True
    return base.by == "address" != head.by


def _allowed(limit: RateLimit | None) -> str:
    if limit is None:
        return "no limit"
    per = "a minute" if limit.per_seconds == 60 else f"in {limit.per}"
    by = " for each address" if limit.by == "address" else ""
    return f"{limit.limit} requests {per}{by}"


def _is_same_channel(pairs: Pairs, base: Route, head: Route) -> bool:
    if base.channel is None or head.channel is None:
        return False
    return pairs.new_name("channels", base.channel.name) == head.channel.name


def _wider(base: Cors | None, head: Cors | None) -> Iterator[str]:
    if head is None:
        return
    was = set(base.origins) if base else set()
    new = [origin for origin in head.origins if origin not in was and "*" not in was]
    if new:
        named = "any origin" if "*" in new else ", ".join(new)
        yield f"responses can be read by {named}"
    if head.credentials and not (base and base.credentials):
        yield "cookies come along from other origins"
    for what in ("methods", "headers"):
        old, now = getattr(base, what, None), getattr(head, what)
        if old and not {*(now or ["*"])} <= {*old}:
            more = ", ".join(added for added in now if added not in old)
            yield f"pages may send {more or 'any'} {what}"
    if base and (more := ", ".join(header for header in head.expose if header not in base.expose)):
        yield f"pages can read the headers {more}"


# ---- webhooks
def _signatures(pairs: Pairs) -> Iterator[Finding]:
    head, open_ = (
        webhook_paths(pairs.head),
        {address(open_route): open_route for open_route in pairs.head.routes},
    )
    for path, base in webhook_paths(pairs.base).items():
        route = open_.get(("POST", path))
        if path in head:
            old, new = _webhook(base).signature, _webhook(head[path]).signature
            if old != new:
                message = f"is signed {_signed(new)}, not {_signed(old)}"
                place = head[path].place(*webhook_key(head[path]), "signature")
                yield finding("signature-dropped", f"POST {path}", message, place)
        elif route is not None and route.authentication in OPEN:
            message, place = "is taken without a signature", route.endpoint.place("path")
            yield finding("signature-dropped", f"POST {path}", message, place)


def _signed(by: Signature) -> str:
    every = (*by.secret, *by.public_key)
    secrets = " or ".join(
        f"env {name}" if (name := env_name(secret)) else secret for secret in every
    )
    where = f"in the header '{by.header}'" if by.header else f"as {by.scheme} does"
    return f"by {secrets} {where}"


def _webhook(of: Resource[Any]) -> Any:
    return of.model.webhook if of.kind == "trigger" else of.model.runs_on.webhook


# ---- columns
def _private_columns(pairs: Pairs) -> Iterator[Finding]:
    for number, (table, column) in enumerate(_opened(pairs)):
        routes = _answers_with(pairs.head, table, column) if number < _LOOKED else []
        message = "is no longer private"
        if routes:
            shown = ", ".join(f"{title(route)} ({route.authentication})" for route in routes[:3])
            more = f" and {len(routes) - 3} more" if len(routes) > 3 else ""
            message += f", and stands in answers of {shown}{more}"
        place = pairs.head.tables[table].place("columns", column, key=True)
        yield finding("private-opened", f"column {table}.{column}", message, place)


def _opened(pairs: Pairs) -> Iterator[tuple[str, str]]:
    for base, head in pairs.both("tables"):
        if base.blob == head.blob:
            continue
        for name, column in head.model.columns.items():
            old = base.model.columns.get(name) or base.model.columns.get(column.renamed_from or "")
            if old is not None and old.private and not column.private:
                yield head.name, name
        for name, column in head.model.computed.items():
            old = base.model.computed.get(name)
            if old is not None and old.private and not column.private:
                yield head.name, name


def _answers_with(project: CheckedProject, table: str, column: str) -> list[Route]:
    """Return the routes that return the column: they would be refused if it were private."""
    found = project.tables[table]
    if column in found.model.computed:
        return []
    columns = {**found.model.columns}
    columns[column] = columns[column].model_copy(update={"private": True})
    model = found.model.model_copy(update={"columns": columns})
    tables = {**project.tables, table: replace(found, model=model)}
    closed = project.having("tables", tables)

    def gives(route: Route) -> bool:
        flows = (closed.flows.of(name) for name in run_by(project, route))
        return any(d.code == "private-data" for flow in flows for d in flow.diagnostics)

    return [route for route in project.routes if gives(route)]


# ---- Find removed and changed conditions that refuse callers, on each path from outside
# A guard is an `if` that reads the role or the claims of the caller, or that leads to a 401 or
# 403; and each part of a `where` that reads the caller. Other decisions of functions are not known
# here.

_ROLE = re.compile(r"\bvars\??\.(auth\??\.(role|claims)|apiKey\??\.claims)\b").search
_WHO = re.compile(r"\bvars\??\.(auth|apiKey)\b").search
_REFUSALS = {401, 403}


class Guard(NamedTuple):
    """A condition, whether it answers 401 or 403, and its function with its place, `mark`."""

    condition: str
    refuses: bool
    function: Resource[Function]
    mark: Mark | None


class Way(NamedTuple):
    """A path from outside: its functions before and after, and its beginning."""

    subject: str
    was: list[Resource[Function]]
    now: list[Resource[Function]]
    place: Place


def find_changed_guards(pairs: Pairs) -> Iterator[Finding]:
    """Yield the guards that a path no longer has, wherever on it they stood."""
    for way in _ways(pairs):
        if sorted(function.blob for function in way.was) != sorted(
            function.blob for function in way.now
        ):
            yield from _changed(pairs, way)


def _ways(pairs: Pairs) -> Iterator[Way]:
    """Yield the paths of both projects: of changed routes, topics, and tools of agents."""
    for pair in pairs.other_routes:
        if pair.base is not None and pair.head is not None:
            was, now = run_by(pairs.base, pair.base), run_by(pairs.head, pair.head)
            yield _way(pairs, title(pair.head), was, now, pair.head.code_place)
    for base, head in pairs.both("realtime"):
        was = reached(pairs.base, *base.model.middleware)
        now = reached(pairs.head, *head.model.middleware)
        yield _way(pairs, f"topic {head.model.topic}", was, now, head.place("middleware"))
    for base, head in pairs.both("agents"):
        for tool in base.model.tool_names:
            name = pairs.new_name("functions", tool)
            if name in head.model.tool_names:
                was, now = reached(pairs.base, tool), reached(pairs.head, name)
                yield _way(pairs, f"agent {head.name}", was, now, head.place("tools"))


def _way(
    pairs: Pairs, subject: str, was: tuple[str, ...], now: tuple[str, ...], place: Place
) -> Way:
    base, head = pairs.base.functions, pairs.head.functions
    return Way(subject, [base[name] for name in was], [head[name] for name in now], place)


def _changed(pairs: Pairs, way: Way) -> Iterator[Finding]:
    was, now = _guards(way.was), _guards(way.now)
    for old, new in zip_longest(_without(was, now), _without(now, was)):
        if old is None:
            return  # an additional guard
        if new is None:
            message = f"no longer checks '{old.condition}'"
            yield finding("guard-removed", way.subject, message, _place(pairs, way, old))
        elif said := _says(old, new):
            yield finding("guard-changed", way.subject, said, new.function.at(new.mark))


def _says(old: Guard, new: Guard) -> str:
    """Return how one guard replaces another; empty if it only refuses more."""
    if old.condition != new.condition:
        return f"checks '{new.condition}', it checked '{old.condition}'"
    return f"no longer answers 401 or 403 where '{old.condition}'" if old.refuses else ""


def _place(pairs: Pairs, way: Way, gone: Guard) -> Place:
    name = pairs.new_name("functions", gone.function.name)
    function = pairs.head.functions.get(name)
    return function.place("steps") if function else way.place


def _without(guards: list[Guard], others: list[Guard]) -> list[Guard]:
    """Return the guards that are missing in others, as often as they are missing."""
    left = Counter(guard[:2] for guard in others)
    missing = []
    for guard in guards:
        left[guard[:2]] -= 1
        if left[guard[:2]] < 0:
            missing.append(guard)
    return missing


def _guards(functions: list[Resource[Function]]) -> list[Guard]:
    return [
        guard
        for function in functions
        for step in function.model.every_step
        for guard in _of_step(function, step)
    ]


def _of_step(function: Resource[Function], step: Step) -> Iterator[Guard]:
    if isinstance(step, If):
        condition, refuses = step.if_, _refuses(step)
        if isinstance(condition, Expression) and (refuses or _ROLE(condition.text)):
            yield Guard(condition.text, refuses, function, step.place("if") or step.mark)
        return
    where = getattr(getattr(step, step.key, None), "where", None)
    if isinstance(where, Expression):
        for node in conjuncts(where.node):
            part = where.text[node.start : node.end]
            if _WHO(part):
                yield Guard(part, False, function, step.place("where") or step.mark)  # noqa: FBT003


def _refuses(step: If) -> bool:
    """Return whether the condition leads directly to a 401 or 403."""
    inner = [*step.then, *(step.else_ or ())]
    statuses = [step.throw.status for step in inner if isinstance(step, Throw)]
    statuses += [step.return_.status for step in inner if isinstance(step, Return)]
    return any(isinstance(status, Constant) and status.value in _REFUSALS for status in statuses)
