"""Find the reach of functions beyond their own tables: other servers, secrets, custom SQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from bbops.base.diagnostics import Place
from bbops.language.expressions.inside import ANY_MEMBER, expressions, members
from bbops.language.expressions.nodes import ItemAccess, Member
from bbops.language.expressions.values import Constant, Template, Value
from bbops.language.project import Project, Resource
from bbops.language.resources.function import Function
from bbops.language.steps.http import Http
from bbops.language.steps.sql import Sql
from bbops.review.plan.addons import find_addons
from bbops.review.plan.changes import Pairs
from bbops.review.plan.codes import Finding, finding
from bbops.runtime.vendors.smtp_mail import PORTS as SMTP_PORTS

Reached = tuple[str, str, Place]
"""(its key, its name, its first place)."""
Look = Callable[[Resource[Function]], Iterator[Reached]]

_HOST = re.compile(r"(?:http|smtp)s?://[^/?#\s]+[/?#]").match
_PORT = re.compile(r":(\d{1,5})(?![^/?#])").match
PORTS: Final = {"http": 80, "https": 443, **SMTP_PORTS}


def find_reached(pairs: Pairs) -> Iterator[Finding]:
    """Yield the servers and secrets that no function of the old project reached."""
    for _, called, place in _new(pairs, _addresses):
        message = f"calls {called}, which nothing called before"
        yield finding("outside-address", _function(place), message, place)
    for _, called, place in _new(pairs, _secrets(pairs.head)):
        message = f"reads {called}, which no function read before"
        yield finding("secret-read", _function(place), message, place)
    for _, called, place in _new(pairs, _writes):
        yield finding("sql-writes", _function(place), f"writes with SQL: {called}", place)
    yield from find_addons(pairs)


def _function(place: Place) -> str:
    folder, _, name = place.file.removesuffix(".yaml").partition("/")
    return f"{'endpoint' if folder == 'endpoints' else 'function'} {name}"


def _new(pairs: Pairs, look: Look) -> Iterator[Reached]:
    """Yield the new reach of changed functions; other functions are read when needed."""
    same = {new.name: old.name for old, new in pairs.both("functions") if old.blob == new.blob}
    kept = set(same.values())
    after = _by_key(
        (function for name, function in pairs.head.functions.items() if name not in same), look
    )
    before = _by_key(
        (function for name, function in pairs.base.functions.items() if name not in kept), look
    )
    found = {key: reached for key, reached in after.items() if key not in before}
    if found:
        rest = _by_key((pairs.base.functions[name] for name in kept), look)
        yield from (reached for key, reached in found.items() if key not in rest)


def _by_key(functions: Iterable[Resource[Function]], look: Look) -> Mapping[str, Reached]:
    found: dict[str, Reached] = {}
    for function in sorted(functions, key=lambda function: function.name):
        for reached in look(function):
            found.setdefault(reached[0], reached)
    return found


# ---- the reach
def _addresses(function: Resource[Function]) -> Iterator[Reached]:
    for step in function.model.every_step:
        if isinstance(step, Http):
            called = _called(step.http.url)
            key = called or f"made by {function.file}"
            called = called or "a URL computed at run time"
            yield key, called, function.at(step.place("url") or step.mark)


class Server(NamedTuple):
    """The known part of an address before the step runs: its beginning, or its variable.

    Attributes:
        address: its first part, up to the first computed one.
        variable: the env variable with the address or the name of a host.
        port: the port after the variable; 0 without one.
    """

    address: str = ""
    variable: str = ""
    port: int = 0


def server_of(url: Value) -> Server:
    """Return the known part of the server in the address of an `http` step."""
    if isinstance(url, Constant):
        return Server(f"{url.value}/")
    parts = list(url.parts) if isinstance(url, Template) else [getattr(url, "node", "")]
    scheme = ""
    if parts[0] in {"http://", "https://"} and _ends_host(parts[2:]):
        scheme, parts = str(parts[0])[: -len("://")], parts[1:]
    if isinstance(parts[0], str):
        return Server(parts[0])
    names = [*members(parts[0], "env")] if isinstance(parts[0], Member | ItemAccess) else []
    if not names or names[0] == ANY_MEMBER:
        return Server()
    return Server(variable=names[0], port=_port_behind(parts[1:]) or PORTS.get(scheme, 0))


def _port_behind(rest: Sequence[object]) -> int:
    found = _PORT(rest[0]) if rest and isinstance(rest[0], str) else None
    return int(found[1]) if found else 0


def _ends_host(rest: Sequence[object]) -> bool:
    """Return whether the rest of an address does not belong to the name of the host."""
    return not rest or (isinstance(rest[0], str) and rest[0][:1] in {"/", "?", "#", ":"})


def _called(url: Value) -> str:
    server = server_of(url)
    if server.variable:
        return f"the server that env {server.variable} names"
    return _host(server.address)


def _host(text: str) -> str:
    """Return the host at the beginning of an address, quoted; empty if it is not complete."""
    if not _HOST(text):
        return ""
    try:
        host = urlsplit(text).netloc.rpartition("@")[2].lower()
    except ValueError:
        return ""
    return f"'{host}'"


def host_of(text: str) -> str:
    """Return the host and port at the beginning of an address, as `name:443`; or nothing."""
    try:
        parts = urlsplit(text)
        port = parts.port or PORTS.get(parts.scheme, 0)
    except ValueError:
        return ""
    return f"{parts.hostname}:{port}" if _HOST(text) and parts.hostname else ""


def _secrets(head: Project) -> Look:
    env = head.settings.model.env

    def look(function: Resource[Function]) -> Iterator[Reached]:
        if "env" not in function.document.source:
            return
        for found in expressions(function.model.steps):
            for name in members(found.node, "env"):
                if name in env and env[name].secret:
                    yield name, f"the secret '{name}'", function.at(found.mark)
                elif name == ANY_MEMBER:
                    yield name, "any secret", function.at(found.mark)

    return look


def _writes(function: Resource[Function]) -> Iterator[Reached]:
    for step in function.model.every_step:
        if isinstance(step, Sql) and step.sql.mode == "write":
            verb = str(step.own.verb).upper()
            place = function.at(step.place("statement") or step.mark)
            words = " ".join(step.own.sql.split())
            yield words, verb, place
