"""Say who may do more than before: of routes, channels, topics, columns, keys and rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from bbops.base.names import env_name
from bbops.build.check import CheckedProject
from bbops.language.project import Resource, Route
from bbops.language.resources.channel import Cors
from bbops.language.resources.trigger import Signature
from bbops.review.plan.breaking import authentication_place, webhook_paths
from bbops.review.plan.changes import cors, rate_limit
from bbops.review.plan.finding import Finding, finding, sort_findings
from bbops.review.plan.guards import find_changed_guards
from bbops.review.plan.opened import find_opened
from bbops.review.plan.pairs import Pairs, address, run_by, title
from bbops.review.plan.reach import find_reached
from bbops.review.plan.rules import find_loosened_rules
from bbops.review.plan.sent_webhooks import find_added_receivers
from bbops.review.plan.topics import find_opened_topics

_CLOSED = {"JWT", "API Key"}
_LOOKED = 5
"""For how many columns it is looked who answers with them: each look checks all functions."""


def find_access(pairs: Pairs) -> tuple[Finding, ...]:
    """Return every place where access is loosened."""
    found: list[Finding] = []
    for pair in pairs.routes:
        if pair.base is not None and pair.head is not None:
            found += _of_routes(pairs, pair.base, pair.head)
    found += find_opened(pairs)
    found += _signatures(pairs)
    found += find_added_receivers(pairs)
    found += find_opened_topics(pairs)
    found += _agents(pairs)
    found += _private_columns(pairs)
    found += find_changed_guards(pairs)
    found += find_reached(pairs)
    found += find_loosened_rules(pairs.base.settings, pairs.head.settings)
    return sort_findings(found)


# ---- routes
def _of_routes(pairs: Pairs, base: Route, head: Route) -> Iterator[Finding]:
    if base.authentication in _CLOSED and head.authentication == "None":
        message = f"is now public; it required {base.authentication}"
        place = authentication_place(head)
        yield finding("authentication-removed", title(head), message, place)
    for code, key, message in _of_surroundings(pairs, base, head):
        if _is_same_channel(pairs, base, head) and head.channel is not None:
            subject = f"channel {head.channel.name}"
            yield finding(code, subject, message, head.channel.place(key))
        else:
            yield finding(code, title(head), message, head.endpoint.place("channel"))


def _of_surroundings(pairs: Pairs, base: Route, head: Route) -> Iterator[tuple[str, str, str]]:
    """Yield (code, key, message) of what a channel may give to all its routes."""
    was, now = rate_limit(base), rate_limit(head)
    if was and (not now or now > was):
        yield "rate-limit-raised", "rateLimit", f"{_a_minute(now)}, it had {_a_minute(was)}"
    for message in _wider(cors(base), cors(head)):
        yield "cors-widened", "cors", message
    kept = run_by(pairs.head, head)
    for name in dict.fromkeys(base.middleware):
        if pairs.new_name("functions", name) not in kept:
            yield "middleware-removed", "middleware", f"'{name}' no longer runs before it"


def _is_same_channel(pairs: Pairs, base: Route, head: Route) -> bool:
    if base.channel is None or head.channel is None:
        return False
    return pairs.new_name("channels", base.channel.name) == head.channel.name


def _a_minute(limit: int) -> str:
    return f"{limit} requests a minute" if limit else "no limit"


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
            more = ", ".join(one for one in now if one not in old)
            yield f"pages may send {more or 'any'} {what}"


# ---- webhooks, agents
def _signatures(pairs: Pairs) -> Iterator[Finding]:
    head, open_ = webhook_paths(pairs.head), {address(one): one for one in pairs.head.routes}
    for path, base in webhook_paths(pairs.base).items():
        route = open_.get(("POST", path))
        if path in head:
            old, new = _webhook(base).signature, _webhook(head[path]).signature
            if old != new:
                message = f"is signed {_signed(new)}, not {_signed(old)}"
                place = head[path].place("webhook", "signature")
                yield finding("signature-dropped", f"POST {path}", message, place)
        elif route is not None and route.authentication == "None":
            message, place = "is taken without a signature", route.endpoint.place("path")
            yield finding("signature-dropped", f"POST {path}", message, place)


def _signed(by: Signature) -> str:
    secrets = " or ".join(f"env {env_name(one)}" for one in by.secret)
    where = f"in the header '{by.header}'" if by.header else f"as {by.scheme} does"
    return f"by {secrets} {where}"


def _webhook(of: Resource[Any]) -> Any:
    return of.model.webhook if of.kind == "trigger" else of.model.runs_on.webhook


def _agents(pairs: Pairs) -> Iterator[Finding]:
    for base, head in pairs.both("agents"):
        subject = f"agent {head.name}"
        was, now = base.model.runs_on.chat, head.model.runs_on.chat
        if now is not None and now.authentication == "None" and was and was != now:
            message, place = "anybody may chat, it needed JWT", head.place("runsOn", "chat")
            yield finding("authentication-removed", subject, message, place)
        had = {pairs.new_name("functions", name) for name in base.model.tools}
        for at, name in enumerate(head.model.tools):
            if name not in had:
                place = head.place("tools", at)
                yield finding("agent-tool-added", subject, f"may call '{name}'", place)


# ---- columns
def _private_columns(pairs: Pairs) -> Iterator[Finding]:
    for number, (table, column) in enumerate(_opened(pairs)):
        routes = _answers_with(pairs.head, table, column) if number < _LOOKED else []
        message = "is no longer private"
        if routes:
            shown = ", ".join(f"{title(one)} ({one.authentication})" for one in routes[:3])
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


def _answers_with(project: CheckedProject, table: str, column: str) -> list[Route]:
    """Return the routes that would be refused if the column were private: they give it away."""
    found = project.tables[table]
    columns = {**found.model.columns}
    columns[column] = columns[column].model_copy(update={"private": True})
    model = found.model.model_copy(update={"columns": columns})
    tables = {**project.tables, table: replace(found, model=model)}
    closed = project.having("tables", tables)

    def gives(route: Route) -> bool:
        flows = (closed.flows.of(name) for name in run_by(project, route))
        return any(d.code == "private-data" for flow in flows for d in flow.diagnostics)

    return [route for route in project.routes if gives(route)]
