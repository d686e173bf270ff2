"""Panels: the pages of a project that its side bar links to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from bbops_server.accounts.rules import Permission

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
