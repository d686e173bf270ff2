"""Endpoints, with the settings of their channels."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.language.project import Route
from bbops.review.contract.sessions import operation_id
from bbops.review.outline.outline import EndpointOutline
from bbops.review.outline.places import first_line
from bbops.review.outline.relations import Relations


def outline_endpoints(relations: Relations) -> Iterator[EndpointOutline]:
    """Yield the endpoints of a project by name."""
    for route in relations.project.routes:
        yield _outline(relations, route)


def _outline(relations: Relations, route: Route) -> EndpointOutline:
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
