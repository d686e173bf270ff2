"""What a function may read, by what runs it: the names that every way to it gives."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from bbops.base.diagnostics import Hint, SetEntry
from bbops.base.names import title_of
from bbops.compiler.check._resolved import ResolvedProject
from bbops.compiler.check._ways import Way, joined_root
from bbops.language.expressions.types import INTEGER, SECRET, TEXT, Type, list_of, map_of
from bbops.language.project import Authentication, Resource
from bbops.language.resources.function import Function
from bbops.language.shape import Shape, shape_types
from bbops.language.steps._ruled import RuleCaller
from bbops.language.steps._surroundings import Arguments, Hidden

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
