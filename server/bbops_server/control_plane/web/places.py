"""Links from a place in a project's files to the page of its resource."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

_PLACE: Final = re.compile(r"(endpoints|functions)/([^:]{1,400})\.yaml:([0-9]{1,9})(?::[0-9]+)?")


def place_url(project: str, place: str, draft: str = "") -> str:
    """Return the URL of a place such as `functions/greet.yaml:4`; empty for other files."""
    found = _PLACE.fullmatch(place)
    if found is None:
        return ""
    kind, name, line = found.groups()
    return f"{resource_url(project, kind, name, draft)}#L{line}"


def resource_url(project: str, kind: str, name: str, draft: str = "") -> str:
    """Return the URL of a resource's page; `kind` is its folder."""
    return f"/projects/{quote(project)}/{kind}/{quote(name)}{draft_query(draft)}"


def draft_query(draft: str) -> str:
    """Return the query of a page that shows a draft; empty for live."""
    return f"?in={quote(draft)}" if draft else ""
