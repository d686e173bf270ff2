"""Say what functions reach beyond their own tables: other servers, secrets, SQL of their own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from urllib.parse import urlsplit

from bbops.addons._base import kind as addon_kind
from bbops.diagnostics import Place
from bbops.expressions.inside import expressions, nodes
from bbops.expressions.nodes import Member, Name, Node
from bbops.expressions.values import Constant, Template, Value
from bbops.plan.finding import Finding, finding
from bbops.plan.pairs import Pairs
from bbops.project import Project, Resource
from bbops.resources.function import Function
from bbops.steps._base import every_step
from bbops.steps.http import Http
from bbops.steps.sql import Sql

Reached = tuple[str, str, Place]
"""(what tells it from others, how it is called, where it stands first)."""
Look = Callable[[Resource[Function]], Iterator[Reached]]

_HOST = re.compile(r"https?://[^/?#\s]+[/?#]").match


def find_reached(pairs: Pairs) -> Iterator[Finding]:
    """Yield what functions reach that no function of the old project did."""
    for _, called, place in _new(pairs, _addresses):
        message = f"asks {called}, which nothing asked before"
        yield finding("outside-address", _function(place), message, place)
    for name, _, place in _new(pairs, _secrets(pairs.head)):
        message = f"reads the secret '{name}', which no function read before"
        yield finding("secret-read", _function(place), message, place)
    for _, called, place in _new(pairs, _writes):
        yield finding("sql-writes", _function(place), f"writes by SQL: {called}", place)
    yield from _enabled_addons(pairs)


def _function(place: Place) -> str:
    name = place.file.removeprefix("functions/").removesuffix(".yaml")
    return f"function {name}"


def _new(pairs: Pairs, look: Look) -> Iterator[Reached]:
    """Yield what changed functions reach in the new project alone; others are read when needed."""
    changed = [new for old, new in pairs.both("functions") if old.blob != new.blob]
    known = {old.name for old, new in pairs.both("functions") if old.blob == new.blob}
    before = [one for name, one in pairs.base.functions.items() if name not in known]
    there = {new.name for _, new in pairs.both("functions")}
    changed += [one for name, one in pairs.head.functions.items() if name not in there]
    found = _by_key(changed, look)
    found = {key: one for key, one in found.items() if key not in _by_key(before, look)}
    if found:
        rest = _by_key((pairs.base.functions[name] for name in known), look)
        yield from (one for key, one in found.items() if key not in rest)


def _by_key(functions: Iterable[Resource[Function]], look: Look) -> Mapping[str, Reached]:
    found: dict[str, Reached] = {}
    for function in sorted(functions, key=lambda one: one.name):
        for one in look(function):
            found.setdefault(one[0], one)
    return found


# ---- what is reached
def _addresses(function: Resource[Function]) -> Iterator[Reached]:
    for step in every_step(function.model.steps):
        if isinstance(step, Http):
            host = _host(step.http.url)
            called = f"'{host}'" if host else "an address that is made when it runs"
            key = host or f"made by {function.file}"
            yield key, called, function.at(step.place("url") or step.mark)


def _host(url: Value) -> str:
    """Return the host of an address; empty where it is known only when the step runs."""
    text = ""
    if isinstance(url, Constant):
        text = f"{url.value}/"
    elif isinstance(url, Template) and isinstance(url.parts[0], str):
        text = url.parts[0]
    if not _HOST(text):
        return ""
    try:
        return urlsplit(text).netloc.rpartition("@")[2].lower()
    except ValueError:
        return ""


def _secrets(head: Project) -> Look:
    env = head.settings.model.env

    def look(function: Resource[Function]) -> Iterator[Reached]:
        if "env" not in function.document.source:
            return
        for found in expressions(function.model.steps):
            for node in nodes(found.node):
                name = _env(node)
                if name in env and env[name].secret:
                    yield name, name, function.at(found.mark)

    return look


def _env(node: Node) -> str:
    is_env = isinstance(node, Member) and isinstance(node.of, Name) and node.of.name == "env"
    return node.name if isinstance(node, Member) and is_env else ""


def _writes(function: Resource[Function]) -> Iterator[Reached]:
    for step in every_step(function.model.steps):
        if isinstance(step, Sql) and step.sql.mode == "write":
            verb = str(step.own.verb).upper()
            place = function.at(step.place("statement") or step.mark)
            words = " ".join(step.own.sql.split())
            yield words, verb, place


def _enabled_addons(pairs: Pairs) -> Iterator[Finding]:
    on = {name for name, addon in pairs.base.addons.items() if addon.model.enabled}
    for name, addon in pairs.head.addons.items():
        found = addon_kind(name)
        if addon.model.enabled and name not in on and found is not None and found.secrets:
            message = f"its steps ask its provider's servers ({found.title})"
            yield finding("outside-address", f"addon {name}", message, addon.place("enabled"))
