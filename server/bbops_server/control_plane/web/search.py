"""Search the pages and resources of a project, for the page and for the palette."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final
from urllib.parse import quote

import msgspec

from bbops.review.outline.outline import Outline
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.frame import list_server_links
from bbops_server.control_plane.web.outline_links import OutlineLinks
from bbops_server.control_plane.web.panels import Panel
from bbops_server.control_plane.web.visit import Visit

MAX_ENTRIES: Final = 2_000
"""Entries of a response; the palette ranks that many in the browser."""


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

    `server/dashboard/islands/palette.ts` ranks likewise.
    """
    words = query.lower().split()
    found = [entry for entry in entries if _contains(entry, words)]
    if words:
        found.sort(key=lambda entry: (not _begins(entry, words[0]), len(entry.text)))
    return SearchResult(found[:limit], len(found))


def _contains(entry: SearchEntry, words: Sequence[str]) -> bool:
    text = f"{entry.text} {entry.detail} {entry.kind}".lower()
    return all(word in text for word in words)


def _begins(entry: SearchEntry, word: str) -> bool:
    """Return whether a word of the text begins with another."""
    return any(part.startswith(word) for part in re.split(r"[\s/._:-]+", entry.text.lower()))


def list_server_entries(visit: Visit) -> Iterator[SearchEntry]:
    """Yield the pages of the server and the projects that the caller may read. No I/O."""
    for link in list_server_links(visit):
        yield SearchEntry(link.title, "server page", link.url)
    for status in visit.control.status.projects():
        if visit.may(Permission.READ_PROJECT, status.name):
            yield SearchEntry(status.name, "project", f"/projects/{quote(status.name)}")


def list_pages(
    visit: Visit, project: str, panels: Iterable[Panel], draft: str
) -> Iterator[SearchEntry]:
    """Yield the pages of a project that the caller may read, in the draft if they show one."""
    links = {False: OutlineLinks(project), True: OutlineLinks(project, draft)}
    for panel in sorted(panels, key=lambda panel: panel.title):
        if visit.may(panel.permission, project):
            url = f"/projects/{quote(project)}{panel.path}{links[panel.in_drafts].query}"
            yield SearchEntry(panel.title, "page", url)


def list_resources(outline: Outline, links: OutlineLinks) -> Iterator[SearchEntry]:
    """Yield the resources of a commit, with the columns of its tables last."""
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
    for topic in outline.topics:
        yield SearchEntry(topic.name, "topic", links.to("realtime"))
    for table in outline.tables:
        for column in table.columns:
            yield SearchEntry(f"{table.name}.{column.name}", "column", links.table(table.name))
