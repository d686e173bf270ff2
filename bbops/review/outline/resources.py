"""The outlines of functions, endpoints, channels, topics, variables and tests."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

from bbops.base.names import INLINE
from bbops.compiler.check import CheckedProject
from bbops.language.project import Project, Resource, Route
from bbops.language.resources.channel import Channel, Cors
from bbops.language.resources.function import Function
from bbops.language.shape import Field
from bbops.review.contract.sessions import operation_id
from bbops.review.outline.outline import (
    CaseOutline,
    ChannelOutline,
    CorsOutline,
    EndpointOutline,
    FunctionOutline,
    InputOutline,
    SourceLine,
    TestOutline,
    VariableOutline,
)
from bbops.review.outline.relations import Relations, target_of
from bbops.review.outline.steps import addon_of, outline_steps, summarize
from bbops.source.yaml.document import Text


def outline_tests(project: CheckedProject) -> Iterator[TestOutline]:
    """Yield the test files of a project by name."""
    for name, test in sorted(project.tests.items()):
        kind, target = target_of(test.model)
        cases = (
            CaseOutline(case.name, test.place("cases", at).line)
            for at, case in enumerate(test.model.cases)
        )
        about = (test.model.description or "").strip()
        yield TestOutline(name, test.file, 1, about, kind, target, tuple(cases))


def outline_channels(relations: Relations) -> Iterator[ChannelOutline]:
    """Yield the channels of a project by name."""
    inside = relations.endpoints_of_channels
    for name, channel in sorted(relations.project.channels.items()):
        yield _outline(channel, inside.get(name, ()))


# ---- Functions, with the resources that run them


def _outline(channel: Resource[Channel], endpoints: tuple[str, ...]) -> ChannelOutline:
    model = channel.model
    return ChannelOutline(
        name=channel.name,
        title=model.name,
        file=channel.file,
        line=first_line(channel, "name"),
        base_path=model.base_path,
        authentication=model.authentication,
        roles=tuple(model.roles or ()),
        rate_limit=str(model.rate_limit) if model.rate_limit.limit else "",
        cors=_cors(model.cors),
        middleware=tuple(model.middleware),
        timeout=model.timeout or "",
        max_body=model.max_body or "",
        history=model.history or "meta",
        endpoints=endpoints,
    )


def _cors(cors: Cors) -> CorsOutline:
    return CorsOutline(
        tuple(cors.origins), tuple(cors.methods), tuple(cors.headers), tuple(cors.expose),
        cors.credentials, cors.max_age,
    )  # fmt: skip


def outline_endpoints(relations: Relations) -> Iterator[EndpointOutline]:
    """Yield the endpoints of a project by name."""
    for route in relations.project.routes:
        yield _outline_endpoint(relations, route)


def _outline_endpoint(relations: Relations, route: Route) -> EndpointOutline:
    endpoint, limit = route.endpoint, route.rate_limit
    model = endpoint.model
    return EndpointOutline(
        name=endpoint.name,
        file=endpoint.file,
        line=first_line(endpoint, "method"),
        id=operation_id(endpoint.name),
        method=route.method,
        path=route.path,
        channel=route.channel.name if route.channel else "",
        authentication=route.authentication,
        is_inherited=model.authentication is None,
        roles=tuple(sorted(route.roles or ())),
        rate_limit=str(limit) if limit else "",
        middleware=route.middleware,
        function=route.function,
        is_inline=model.steps is not None,
        description=(model.description or "").strip(),
        docs=model.docs_visibility,
        timeout=route.timeout or "",
        max_body=route.max_body or "",
        history=route.history or "meta",
        is_idempotent=model.idempotency,
        tests=relations.tests.get(f"endpoint {endpoint.name}", ()),
        tables=relations.tables_of((route.function, *route.middleware)),
    )


# ---- Variables of `env`: their declarations and their uses, never their values

_READ: Final = re.compile(r"""\benv(?:\.|\[\s*["'])([A-Z][A-Z0-9_]{0,62})\b""")
_PROSE: Final = frozenset({"description", "instructions"})


def outline_variables(project: Project) -> Iterator[VariableOutline]:
    """Yield the declared variables by name. O(length of the files that read any)."""
    settings, uses = project.settings, find_variables(project.every)
    for name, variable in sorted(settings.model.env.items()):
        yield VariableOutline(
            name=name,
            file=settings.file,
            line=line_of(settings, "env", name),
            is_secret=variable.secret,
            is_generated=variable.generate,
            has_default=variable.default is not None,
            is_required=not variable.may_be_missing,
            description=(variable.description or "").strip(),
            uses=tuple(sorted(uses.get(name, ()), key=lambda use: (use.file, use.line))),
        )


def find_variables(resources: Iterator[Resource[Any]]) -> Mapping[str, set[SourceLine]]:
    """Return the lines that read each variable."""
    found: defaultdict[str, set[SourceLine]] = defaultdict(set)
    for resource in resources:
        if "env" not in resource.document.source:
            continue
        for text in _texts(resource.document.root):
            for match in _READ.finditer(text):
                line, _ = resource.document.position(text.mark, match.start())
                found[match[1]].add(SourceLine(resource.file, line))
    return found


def _texts(node: Any) -> Iterator[Text]:
    match node:
        case Text():
            yield node
        case dict():
            for key, value in node.items():
                if key not in _PROSE:
                    yield from _texts(value)
        case list():
            for value in node:
                yield from _texts(value)


_PARTS: Final[tuple[Literal["input", "query", "params", "payload"], ...]] = (
    "params", "query", "input", "payload",
)  # fmt: skip


def outline_functions(relations: Relations) -> Iterator[FunctionOutline]:
    """Yield the functions of a project and the inline steps of its endpoints, by name."""
    for name, function in sorted(relations.project.functions.items()):
        yield _outline_function(relations, name, function)


def _outline_function(
    relations: Relations, name: str, function: Resource[Function]
) -> FunctionOutline:
    model, uses = function.model, relations.uses[name]
    endpoint = name.removeprefix(INLINE)
    target = f"function {name}" if endpoint == name else f"endpoint {endpoint}"
    return FunctionOutline(
        name=name,
        file=function.file,
        line=first_line(function, "steps"),
        is_inline=endpoint != name,
        description=(model.description or "").strip(),
        inputs=tuple(_inputs(model)),
        steps=outline_steps(relations.project, model.steps, function.document.root["steps"]),
        callers=relations.callers.get(name, ()),
        enqueued_by=relations.enqueuers.get(name, ()),
        endpoints=relations.endpoints.get(name, ()),
        middleware_of=relations.middleware.get(name, ()),
        tasks=relations.tasks.get(name, ()),
        triggers=relations.triggers.get(name, ()),
        agents=relations.agents.get(name, ()),
        tests=relations.tests.get(target, ()),
        addons=tuple(sorted({addon_of(step) for step in model.every_step} - {""})),
        reads=uses.reads,
        writes=uses.writes,
    )


def _inputs(model: Function) -> Iterator[InputOutline]:
    for part in _PARTS:
        for name, field in (getattr(model, part) or {}).items():
            is_required = not name.endswith("?") and field.default is None
            about = (field.description or "").strip()
            yield InputOutline(name.rstrip("?"), part, type_text(field), is_required, about)


def type_text(field: Field) -> str:
    """Return the type of a field as a file writes it, such as `uuid?` or `integer[]`."""
    base, is_list, is_nullable = field.parts
    if field.items is not None:
        base, is_list = type_text(field.items), True
    elif field.fields is not None:
        base = f"{{{', '.join(field.fields)}}}"
    options = f" ({', '.join(map(str, field.enum))})" if field.enum else ""
    return f"{base}{'[]' * is_list}{'?' * is_nullable}{options}"


# ---- Lines and texts of a resource's file


def first_line(resource: Resource[Any], key: str) -> int:
    """Return the line on which a resource begins.

    Args:
        resource: the resource.
        key: a key of it, whose line counts if the file has several resources.
    """
    own = resource.file.endswith(f"/{resource.name}.yaml")
    return 1 if own else resource.place(key).line


def line_of(resource: Resource[Any], *path: str | int) -> int:
    """Return the line of a key."""
    return resource.place(*path, key=True).line


def text_at(resource: Resource[Any], *path: str | int) -> str:
    """Return a scalar as the file has it, in one line; empty if there is none."""
    node = resource.document.root
    for part in path:
        inside = isinstance(node, dict) and part in node
        if not inside and not (isinstance(node, list) and isinstance(part, int)):
            return ""
        node = node[part]
    return "" if isinstance(node, dict | list | None) else summarize(node)
