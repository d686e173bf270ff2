"""Find breaks for clients of today. Versions side by side break nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bbops.base.diagnostics import Place
from bbops.language.project import OPEN, Project, Resource, Route
from bbops.review.plan.changes import Pairs, RoutePair, address, shown_roles, title
from bbops.review.plan.codes import Finding, finding, sort_findings
from bbops.review.plan.requests import find_answer_breaks, find_request_breaks
from bbops.review.plan.table_rules import find_hidden_rows, find_tightened_matches
from bbops.review.plan.topics import find_sent_breaks, find_topic_breaks

_SIGN_INS = ("login", "signup", "refresh", "logout")
_FIELDS = {"token_field": "tokenField", "refresh_field": "refreshField",
           "csrf_header": "csrfHeader"}  # fmt: skip


def find_breaks(pairs: Pairs) -> tuple[Finding, ...]:
    """Return every break of the contract between two projects."""
    found: list[Finding] = []
    for pair in pairs.other_routes:
        found += _of_pair(pairs, pair)
    for pair in pairs.routes:
        if pair.base is not None and pair.head is not None:
            found += find_answer_breaks(pairs.base, pair.base, pairs.head, pair.head)
    found += _scheme_breaks(pairs)
    found += _session_breaks(pairs)
    found += _signing_breaks(pairs)
    found += find_topic_breaks(pairs)
    found += _webhook_breaks(pairs)
    found += find_sent_breaks(pairs)
    found += find_hidden_rows(pairs)
    found += find_tightened_matches(pairs)
    return sort_findings(found)


def _of_pair(pairs: Pairs, pair: RoutePair) -> Iterator[Finding]:
    if pair.base is None:
        return
    if pair.head is None:
        yield _removed(pairs.head, pair.base)
        return
    if address(pair.base) != address(pair.head):
        message = f"answers as {title(pair.head)} now"
        yield finding("route-moved", title(pair.base), message, _moved(pair.base, pair.head))
    yield from _authentication(pair.base, pair.head)
    yield from find_request_breaks(pairs.base, pair.base, pairs.head, pair.head)


def _moved(base: Route, head: Route) -> Place:
    """Return the place of the new address: in the endpoint, else in its channel."""
    old, new = base.endpoint.model, head.endpoint.model
    if old.method != new.method:
        return head.endpoint.place("method")
    if old.path != new.path or head.channel is None:
        return head.endpoint.place("path")
    is_same = old.channel == new.channel
    return head.channel.place("basePath") if is_same else head.endpoint.place("channel")


def _removed(head: Project, route: Route) -> Finding:
    """Return the finding for a removed route, at its old file."""
    path = address(route)[1]
    others = sorted(other.method for other in head.routes if address(other)[1] == path)
    if others:
        message = f"the path takes only {', '.join(others)} now"
        return finding("method-removed", title(route), message, route.endpoint.place("method"))
    return finding("route-removed", title(route), "is gone", route.endpoint.place("path"))


def _authentication(base: Route, head: Route) -> Iterator[Finding]:
    was, now = base.authentication, head.authentication
    yield from _roles(base, head)
    if now == was or now in OPEN:
        return
    place = authentication_place(head)
    before = "it was open" if was in OPEN else f"it took {was}"
    if now == "API Key":
        yield finding("api-key-required", title(head), f"needs an API key, {before}", place)
    else:
        code = "authentication-required" if was in OPEN else "authentication-changed"
        yield finding(code, title(head), f"needs {now}, {before}", place)


def _roles(base: Route, head: Route) -> Iterator[Finding]:
    """Yield the routes that refuse signed-in users that they answered before."""
    if head.roles is None or base.authentication != "JWT":
        return
    gone = None if base.roles is None else base.roles - head.roles
    if gone is None or gone:
        whom = "every user" if gone is None else f"the role {', '.join(sorted(gone))}"
        message = f"needs one of the roles {shown_roles(head)}; {whom} could call it"
        place = head.saying("roles").place("roles")
        yield finding("roles-required", title(head), message, place)


def authentication_place(route: Route) -> Place:
    """Return the place of the authentication: in the endpoint, else in its channel."""
    if route.endpoint.model.authentication is None and route.channel is not None:
        return route.channel.place("authentication")
    return route.endpoint.place("authentication")


# ---- tokens and sessions
def _scheme_breaks(pairs: Pairs) -> Iterator[Finding]:
    base, head = pairs.base.settings.model.auth, pairs.head.settings.model.auth
    if base is None or head is None:
        return
    for word in [word for word in base.schemes if word not in head.schemes]:
        message = f"the word '{word}' before a token is no longer accepted"
        place = pairs.head.settings.place("auth", "schemes")
        yield finding("authentication-changed", "tokens", message, place)


def _session_breaks(pairs: Pairs) -> Iterator[Finding]:
    base, head = pairs.base.settings.model.session, pairs.head.settings.model.session
    if base is None:
        return
    settings = pairs.head.settings
    if head is None:
        yield finding("session-changed", "session", "is gone", settings.place())
        return
    for name in _SIGN_INS:
        was = _sign_in(pairs.base, getattr(base, name))
        if was is not None and was != _sign_in(pairs.head, getattr(head, name)):
            message = f"'{name}' is another route"
            yield finding("session-changed", "session", message, settings.place("session", name))
    for name, key in _FIELDS.items():
        old, new = getattr(base, name), getattr(head, name)
        if old != new and (old is not None or name == "csrf_header"):
            message = f"'{key}' was {_quoted(old)}, and is {_quoted(new)} now"
            yield finding("session-changed", "session", message, settings.place("session", key))
    was_cookie = base.cookie.name if base.cookie else None
    now_cookie = head.cookie.name if head.cookie else None
    if was_cookie != now_cookie:
        message = f"the cookie was {_quoted(was_cookie)}, and is {_quoted(now_cookie)} now"
        yield finding("session-changed", "session", message, settings.place("session", "cookie"))


def _signing_breaks(pairs: Pairs) -> Iterator[Finding]:
    """Yield changes of the signing method, which break issued tokens and their verifiers."""
    base, head = pairs.base.settings.model.auth, pairs.head.settings.model.auth
    if base is None or head is None or base.algorithm == head.algorithm:
        return
    message = f"tokens were signed by {base.algorithm}, and are by {head.algorithm} now"
    place = pairs.head.settings.place("auth", "algorithm")
    yield finding("signing-changed", "session", message, place)


def _sign_in(project: Project, endpoint: str | None) -> tuple[str, str] | None:
    """Return the route of a sign-in; None if it is missing or new."""
    found = (route for route in project.routes if route.endpoint.name == endpoint)
    return next(map(address, found), None)


def _quoted(word: str | None) -> str:
    return f"'{word}'" if word else "none"


# ---- received webhooks
def webhook_paths(project: Project) -> dict[str, Resource[Any]]:
    """Return the triggers and agents that receive webhooks, by path."""
    found: dict[str, Resource[Any]] = {}
    for trigger in project.triggers.values():
        if trigger.model.webhook is not None:
            found[trigger.model.webhook.path] = trigger
    for agent in project.agents.values():
        if agent.model.runs_on.webhook is not None:
            found[agent.model.runs_on.webhook.path] = agent
    return found


def webhook_key(resource: Resource[Any]) -> tuple[str, ...]:
    """Return the keys of the received webhook in a trigger's or an agent's file."""
    return ("webhook",) if resource.kind == "trigger" else ("runsOn", "webhook")


def _webhook_breaks(pairs: Pairs) -> Iterator[Finding]:
    answered = {address(route) for route in pairs.head.routes}
    kept = webhook_paths(pairs.head)
    for path, base in webhook_paths(pairs.base).items():
        if path not in kept and ("POST", path) not in answered:
            message = "nothing handles its calls any more"
            yield finding(
                "webhook-removed", f"POST {path}", message, base.place(*webhook_key(base))
            )
