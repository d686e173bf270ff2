"""Search the pages and resources of a project, for the page and for the palette."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import quote

import msgspec

from bbops.review.outline.outline import Outline, StepOutline
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.frame import SERVER_ACTIONS, Panel, list_server_links
from bbops_server.control_plane.web.outline_page import OutlineLinks
from bbops_server.control_plane.web.visit import Visit

MAX_ENTRIES: Final = 2_000
"""Entries of a response; the palette ranks that many in the browser."""
_BREAKS: Final = frozenset(" /._:-")
"""Characters around words of a text, such as of a path."""


class SearchEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A page or resource.

    Attributes:
        kind: such as `page` or `endpoint`.
        url: a path of the control plane.
        detail: more words, such as the name of an endpoint.
    """

    text: str
    kind: str
    url: str
    detail: str = ""


class SearchResult(msgspec.Struct, frozen=True):
    """The best matches, and the number of all matches."""

    entries: list[SearchEntry]
    total: int


def rank_entries(entries: Iterable[SearchEntry], query: str, limit: int) -> SearchResult:
    """Return the entries that contain each word of a query, the best matches first.

    A text that equals the query is first, then those with whole words of it, with beginnings of
    words, and with parts; equal matches are in the order of their kinds, the shorter ones first.
    `server/dashboard/shared/search.ts` ranks likewise.
    """
    words = query.lower().split()
    whole, places = " ".join(words), dict[str, int]()
    found: list[tuple[tuple[bool, int, int, int], SearchEntry]] = []
    for entry in entries:
        place = places.setdefault(entry.kind, len(places))
        text = entry.text.lower()
        every = f"{text} {entry.detail} {entry.kind}".lower()
        if all(word in every for word in words):
            quality = sum(_match(text, word) for word in words)
            found.append(((text != whole, quality, place, len(text)), entry))
    if words:
        found.sort(key=lambda pair: pair[0])
    return SearchResult([entry for _, entry in found[:limit]], len(found))


def _match(text: str, word: str) -> int:
    """Return how well a text has a word: 0 as a word, 1 at the start of one, 2 inside, 3 not."""
    best, at = 3, text.find(word)
    while at >= 0 and best > 0:
        end = at + len(word)
        begins = at == 0 or text[at - 1] in _BREAKS or word[0] in _BREAKS
        ends = end == len(text) or text[end] in _BREAKS or word[-1] in _BREAKS
        best = min(best, (0 if ends else 1) if begins else 2)
        at = text.find(word, at + 1)
    return best


def list_server_entries(visit: Visit) -> Iterator[SearchEntry]:
    """Yield the pages of the server and the projects that the caller may read. No I/O."""
    for link in list_server_links(visit):
        yield SearchEntry(link.title, "server page", link.url)
    yield SearchEntry("Roles", "server page", "/roles")
    for title, url, permission in SERVER_ACTIONS:
        if visit.may(permission):
            yield SearchEntry(title, "server action", url)
    for status in visit.control.status.projects():
        if visit.may(Permission.READ_PROJECT, status.name):
            yield SearchEntry(status.name, "project", f"/projects/{quote(status.name)}")


def list_pages(
    visit: Visit, project: str, panels: Iterable[Panel], draft: str
) -> Iterator[SearchEntry]:
    """Yield the pages of a project that the caller may read, then the actions on them.

    Pages that show a draft do so if `draft` is its slug.
    """
    links = {False: OutlineLinks(project), True: OutlineLinks(project, draft)}
    shown = [
        (panel, f"/projects/{quote(project)}{panel.path}{links[panel.in_drafts].query}")
        for panel in sorted(panels, key=lambda panel: panel.title)
        if visit.may(panel.permission, project)
    ]
    for panel, url in shown:
        yield SearchEntry(panel.title, "page", url)
    for panel, url in shown:
        for title, permission in panel.actions:
            if visit.may(permission, project):
                yield SearchEntry(title, "action", url)


def list_resources(outline: Outline, links: OutlineLinks) -> Iterator[SearchEntry]:
    """Yield the resources of a commit, with columns of tables and steps of functions last."""
    for endpoint in outline.endpoints:
        text = f"{endpoint.method} {endpoint.path}"
        yield SearchEntry(text, "endpoint", links.endpoint(endpoint.name), endpoint.name)
    for function in outline.functions:
        if not function.is_inline:
            yield SearchEntry(function.name, "function", links.function(function.name))
    for table in outline.tables:
        yield SearchEntry(table.name, "table", links.table(table.name))
    for channel in outline.channels:
        yield SearchEntry(channel.name, "channel", links.channel(channel.name), channel.title)
    for variable in outline.variables:
        yield SearchEntry(variable.name, "value", links.variable(variable.name))
    for addon in outline.addons:
        yield SearchEntry(addon.name, "addon", links.addon(addon.name), addon.title)
    for task in outline.tasks:
        yield SearchEntry(task.name, "task", links.to("jobs"))
    for agent in outline.agents:
        yield SearchEntry(agent.name, "agent", links.to("agents", agent=agent.name))
    for topic in outline.topics:
        yield SearchEntry(topic.name, "topic", links.to("realtime"))
    for table in outline.tables:
        for column in table.columns:
            yield SearchEntry(f"{table.name}.{column.name}", "column", links.table(table.name))
    for function in outline.functions:
        for step in _list_steps(function.steps):
            detail = f"{function.file}:{step.line} {step.effect}"
            yield SearchEntry(step.title, "step", links.source(function.file, step.line), detail)


def _list_steps(steps: Iterable[StepOutline]) -> Iterator[StepOutline]:
    """Yield steps with the steps inside them, in the order of their lines."""
    for step in steps:
        yield step
        for block in step.blocks:
            yield from _list_steps(block.steps)
