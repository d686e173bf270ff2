"""From a project to its contract: every route that is not hidden, with its requests and answers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

import msgspec

from bbops.compiler.check import CheckedProject
from bbops.language.json_schema import shape_schema
from bbops.language.project import Route
from bbops.review.contract.answers import answers, running
from bbops.review.contract.asyncapi import topics
from bbops.review.contract.chats import chats
from bbops.review.contract.contract import Contract, Operation, Page, SentEvent
from bbops.review.contract.examples import examples
from bbops.review.contract.requests import body, parameters
from bbops.review.contract.sessions import (
    answers_by_cookie,
    body_by_cookie,
    csrf,
    examples_by_cookie,
    operation_id,
    schemes,
    schemes_of,
    session,
)
from bbops.review.contract.shared import share
from bbops.source.tree import Tree

PROSE: Final = "docs/"
MOST_PROSE_BYTES: Final = 1 << 20
"""The largest size of a page; a larger one is left out."""


def describe(
    project: CheckedProject, pages: Mapping[str, str] | None = None, *, hidden: bool = False
) -> Contract:
    """Return the contract of a project that was checked without mistakes.

    Args:
        project: the project of the routes.
        pages: prose by name, from `read_pages`.
        hidden: includes endpoints with `docsVisibility: hidden`, for members of the project only.
    """
    routes = [
        route
        for route in project.routes
        if hidden or route.endpoint.model.docs_visibility == "visible"
    ]
    operations = sorted(
        [*(_operation(project, route) for route in routes), *chats(project)],
        key=lambda operation: (operation.tag, operation.path, operation.method),
    )
    shared, shapes = share(operations)
    live = tuple(topics(project))
    used = {name for operation in operations for name in operation.security}
    used |= {name for topic in live for name in topic.security}
    settings = project.settings.model
    found = Contract(
        1, "", settings.name, settings.description or "", "", schemes(project, used),
        session(project, {route.endpoint.name for route in routes}), shapes, shared,
        tuple(Page(name, text) for name, text in sorted((pages or {}).items())),
        tuple(_sent(project)), live,
    )  # fmt: skip
    said = msgspec.json.encode(found, order="deterministic")
    return replace(found, digest=hashlib.sha256(said).hexdigest())


def read_pages(tree: Tree) -> dict[str, str]:
    """Return the pages of a tree, `docs/*.md`, by name; files that are not UTF-8 are left out."""
    found = {
        entry.path.removeprefix(PROSE).removesuffix(".md"): entry.blob
        for entry in tree.entries()
        if entry.path.startswith(PROSE) and entry.path.endswith(".md") and entry.kind == "file"
        and "/" not in entry.path.removeprefix(PROSE) and entry.size_bytes <= MOST_PROSE_BYTES
    }  # fmt: skip
    texts = tree.read([*found.values()])
    read = {name: _text(texts.get(blob, b"")) for name, blob in found.items()}
    return {name: text for name, text in read.items() if text}


def _text(data: bytes) -> str:
    try:
        return data.decode().strip()
    except UnicodeDecodeError:
        return ""


def _sent(project: CheckedProject) -> Iterator[SentEvent]:
    for name, webhook in sorted(project.webhooks.items()):
        about = (webhook.model.description or "").strip()
        for event, shape in sorted(webhook.model.events.items()):
            yield SentEvent(name, event, about, shape_schema(shape))


def _operation(project: CheckedProject, route: Route) -> Operation:
    endpoint, channel = route.endpoint, route.channel
    security, is_open = schemes_of(project, route, running(project, route))
    takes = (*parameters(project, route), *csrf(project, route))
    sent = body_by_cookie(project, route, body(project, route))
    given = answers(project, route, has_body=sent is not None)
    given = answers_by_cookie(project, route, given)
    shown = examples(project, route, takes, sent, given)
    return Operation(
        id=operation_id(endpoint.name),
        tag=endpoint.name.rpartition("/")[0] or (channel.name if channel else "api"),
        method=route.method,
        path="/".join(
            f"{{{part[1:]}}}" if part[:1] == ":" else part for part in route.path.split("/")
        ),
        channel=channel.name if channel else None,
        description=(endpoint.model.description or "").strip(),
        security=security,
        is_open=is_open,
        rate_limit=route.rate_limit.limit if route.rate_limit else 0,
        parameters=takes,
        body=sent,
        answers=given,
        examples=examples_by_cookie(project, route, shown),
        roles=tuple(sorted(route.roles or ())),
        rate_per=route.rate_limit.per if route.rate_limit else "1m",
    )
