"""The frame of a page: the side bar, the project switch, and the switch between live and drafts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Literal
from urllib.parse import quote

from bbops.interfaces.answers import DraftStatus
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.visit import Visit

MAX_CHOICES: Final = 30
"""Projects and drafts in a switch; the pages of both list all of them."""
SERVER_ACTIONS: Final = (
    ("Invite a member", "/people", Permission.MANAGE_PEOPLE),
    ("Change a role", "/people", Permission.MANAGE_PEOPLE),
    ("Change the password", "/account", Permission.MANAGE_ONESELF),
    ("Create a token", "/account", Permission.MANAGE_ONESELF),
)
"""Actions on pages of the server, for the search."""
_SERVER_LINKS: Final = (
    ("Projects", "home", "/", Permission.KNOW_ONESELF),
    ("People", "people", "/people", Permission.READ_PEOPLE),
    ("Workspace", "gear", "/workspace", Permission.READ_WORKSPACE),
    ("Audit", "log", "/audit", Permission.READ_AUDIT),
    ("Account", "lock", "/account", Permission.MANAGE_ONESELF),
)


@dataclass(frozen=True, slots=True)
class NavLink:
    """A link of the frame.

    Attributes:
        icon: a symbol of `pages/icons.svg`; empty without one.
        is_current: the page belongs to it.
        is_exact: the link leads to this very page.
        note: a short text beside the title, such as a number.
    """

    title: str
    url: str
    icon: str = ""
    is_current: bool = False
    is_exact: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Frame:
    """The navigation of a page.

    Attributes:
        groups: the side bar: headings with their links.
        projects: the projects to switch to.
        draft: the draft that the page shows; None for live.
        targets: live and the drafts that the page can show instead; empty if it shows no draft.
    """

    groups: Sequence[tuple[str, Sequence[NavLink]]]
    projects: Sequence[NavLink]
    draft: DraftStatus | None
    targets: Sequence[NavLink]

    @property
    def query(self) -> str:
        """The query of links that stay in the draft; empty for live."""
        return f"?in={quote(self.draft.slug)}" if self.draft else ""


def frames(panels: Sequence[Panel]) -> Callable[[Visit, str], Frame]:
    """Return the function that creates the frame of a page."""
    return lambda visit, project: create_frame(visit, project, panels)


def create_frame(visit: Visit, project: str, panels: Sequence[Panel]) -> Frame:
    """Return the frame of a page, with the links that the caller may follow. No I/O.

    Args:
        project: the project of the page; empty for a page of the server.
    """
    if visit.caller.how == "nobody":
        return Frame((), (), None, ())
    if not project:
        return Frame((("", tuple(list_server_links(visit))),), (), None, ())
    drafts = visit.control.status.drafts(project)
    found = drafts.find(slug) if drafts is not None and (slug := asked_draft(visit)) else None
    shown = [panel for panel in panels if visit.may(panel.permission, project)]
    current = _find_current(visit.request.url.path, project, shown)
    groups = [
        *_groups(visit, project, shown, current, found),
        ("Server", [*list_server_links(visit)]),
    ]
    targets: Sequence[NavLink] = ()
    if current is not None and current.in_drafts:
        targets = tuple(_targets(visit, drafts.list() if drafts is not None else (), found))
    return Frame(groups, tuple(_projects(visit, project)), found, targets)


def asked_draft(visit: Visit) -> str:
    """Return the slug of the draft in the query; empty for live."""
    return str(visit.request.query_params.get("in", ""))[:400]


def _find_current(path: str, project: str, panels: Sequence[Panel]) -> Panel | None:
    """Return the panel of a page: the longest path above it; the overview is above no other."""
    base = f"/projects/{project}"
    above = [panel for panel in panels if _is_below(path, base + panel.path, base)]
    return max(above, key=lambda panel: len(panel.path), default=None)


def _is_below(path: str, above: str, base: str) -> bool:
    return path == above or (above != base and path.startswith(f"{above}/"))


def _groups(
    visit: Visit, project: str, panels: Sequence[Panel], current: Panel | None,
    draft: DraftStatus | None,
) -> Iterator[tuple[str, Sequence[NavLink]]]:  # fmt: skip
    ordered = sorted(panels, key=lambda panel: (GROUPS.index(panel.group), panel.place))
    query = f"?in={quote(draft.slug)}" if draft is not None else ""
    outline = visit.control.outlines.peek(project, draft.slug if draft is not None else "")
    counts = outline.counts if outline is not None else {}
    path = visit.request.url.path
    for group, members in groupby(ordered, key=lambda panel: panel.group):
        links = []
        for panel in members:
            url = f"/projects/{quote(project)}{panel.path}"
            links.append(
                NavLink(
                    panel.title, url + (query if panel.in_drafts else ""), panel.icon,
                    panel is current, path == f"/projects/{project}{panel.path}",
                    str(counts.get(panel.count, "")),
                )
            )  # fmt: skip
        yield group, links


def list_server_links(visit: Visit) -> Iterator[NavLink]:
    """Yield the links of the server's pages that the caller may read."""
    path = visit.request.url.path
    for title, icon, url, permission in _SERVER_LINKS:
        if visit.may(permission):
            yield NavLink(title, url, icon, path == url, path == url)


def _projects(visit: Visit, current: str) -> Iterator[NavLink]:
    names = sorted(
        status.name
        for status in visit.control.status.projects()
        if status.name != current and visit.may(Permission.READ_PROJECT, status.name)
    )
    for name in names[:MAX_CHOICES]:
        yield NavLink(name, f"/projects/{quote(name)}")


def _targets(
    visit: Visit, drafts: Sequence[DraftStatus], shown: DraftStatus | None
) -> Iterator[NavLink]:  # fmt: skip
    path = quote(visit.request.url.path)
    yield NavLink("Live", path, "live", shown is None, shown is None)
    for draft in drafts[:MAX_CHOICES]:
        is_shown = shown is not None and draft.slug == shown.slug
        url = f"{path}?in={quote(draft.slug)}"
        yield NavLink(draft.branch, url, "branch", is_shown, is_shown, draft.state)


Group = Literal["", "Build", "Run", "Ship", "Team"]
GROUPS: Final[tuple[Group, ...]] = ("", "Build", "Run", "Ship", "Team")


@dataclass(frozen=True, slots=True)
class Panel:
    """A page in the side bar; a module of a page has one as `PANEL`.

    Attributes:
        group: the heading above its link.
        place: its order within the group, ascending.
        title: the text of the link.
        icon: a symbol of `pages/icons.svg`, without `i-`.
        path: the path below `/projects/NAME`.
        permission: the permission of the page; without it, there is no link.
        count: the kind of resources whose number is shown beside the title; empty for none.
        in_drafts: `?in=SLUG` shows a draft on this page.
        actions: what users can do on the page, each with its permission, for the search.
    """

    group: Group
    place: int
    title: str
    icon: str
    path: str
    permission: Permission = Permission.READ_PROJECT
    count: str = ""
    in_drafts: bool = False
    actions: Sequence[tuple[str, Permission]] = ()
