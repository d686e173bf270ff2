"""The page of a project's or draft's requests, newest first, with filters in its URL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from litestar import Response
from litestar.params import FromPath

from bbops.runtime.values.failures import FlowError
from bbops.runtime.values.times import parse_datetime
from bbops.runtime.values.units import seconds
from bbops_server.accounts.rules import Permission
from bbops_server.accounts.text_rules import AccountError
from bbops_server.control_plane.projects.requests import MAX_TEXT, STATUS_PATTERN, find_history
from bbops_server.control_plane.web.frame import Panel, asked_draft
from bbops_server.control_plane.web.outline_page import OutlineLinks
from bbops_server.control_plane.web.routes import page
from bbops_server.control_plane.web.visit import Here
from bbops_server.data_plane.live.history import FAILED, find
from bbops_server.data_plane.live.traffic import now

SHOWN: Final = 100
METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
PERIODS: Final = (
    ("15m", "15 minutes"), ("1h", "hour"), ("1d", "day"), ("7d", "7 days"),
)  # fmt: skip
_FIELDS: Final = ("status", "method", "endpoint", "text", "slower", "since")
_STATUS: Final = re.compile(STATUS_PATTERN)


@dataclass(frozen=True, slots=True)
class RequestFilter:
    """The filters of the page, as the user has written them.

    Attributes:
        before: the id of the oldest request of the page before; 0 for the newest requests.
        problems: invalid values, each as a sentence; then nothing is listed.
    """

    fields: Mapping[str, str]
    before: int
    problems: Sequence[str]

    @classmethod
    def read(cls, query: Mapping[str, str]) -> RequestFilter:
        """Return the filters of a URL."""
        fields = {name: query.get(name, "").strip()[:MAX_TEXT] for name in _FIELDS}
        before = query.get("before", "")
        number = int(before) if before.isascii() and before.isdigit() and len(before) < 16 else 0
        return cls(fields, number, tuple(_find_problems(fields, before, number)))

    def as_arguments(self) -> dict[str, Any]:
        """Return the arguments for `find`."""
        fields = self.fields
        return {
            "status": fields["status"], "method": fields["method"].upper(),
            "endpoint": fields["endpoint"], "text": fields["text"], "before": self.before,
            "slower_than": float(fields["slower"] or 0), "since": _read_moment(fields["since"]),
        }  # fmt: skip

    def query(self, draft: str, **more: Any) -> str:
        """Return the query of the same page, such as of older requests."""
        known = {"in": draft, **self.fields, **more}
        pairs = {name: value for name, value in known.items() if value}
        return f"?{urlencode(pairs)}" if pairs else ""

    @property
    def is_empty(self) -> bool:
        """Whether all requests are listed."""
        return not any(self.fields.values()) and not self.before


@page("/projects/{name:str}/requests", Permission.READ_REQUESTS)
async def show_requests(visit: Here, name: FromPath[str]) -> Response[Any]:
    """Show the newest requests that match the filters of the URL."""
    slug = asked_draft(visit)
    history = find_history(visit, name, slug)
    wanted = RequestFilter.read(visit.request.query_params)
    found: list[dict[str, Any]] = []
    if not wanted.problems:
        found = await visit.control.run(find, history, limit=SHOWN, **wanted.as_arguments())
    error = AccountError("; ".join(wanted.problems)) if wanted.problems else None
    base = f"/projects/{name}/requests"
    return visit.page(
        "requests", 400 if wanted.problems else 200, project=name, draft=slug, wanted=wanted,
        requests=found[::-1], methods=METHODS, periods=PERIODS, error=error, base=base,
        older=wanted.query(slug, before=found[0]["id"]) if len(found) == SHOWN else "",
        link=OutlineLinks(name, slug),
    )  # fmt: skip


def _find_problems(fields: Mapping[str, str], before: str, number: int) -> Iterator[str]:
    """Yield a sentence for each invalid value."""
    if fields["status"] and not _STATUS.fullmatch(fields["status"]):
        given = f"status '{fields['status']}'"
        yield f"{given} is not a number such as 404, a class such as 5xx, or '{FAILED}'"
    if fields["method"] and fields["method"].upper() not in METHODS:
        yield f"method '{fields['method']}' is not one of {', '.join(METHODS)}"
    if fields["slower"] and not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,3})?", fields["slower"]):
        yield f"'{fields['slower']}' is not a number of milliseconds, such as 250"
    if _read_moment(fields["since"]) is None:
        yield f"since '{fields['since']}' is neither a duration such as 10m nor an ISO 8601 time"
    if before and not number:
        yield f"before '{before[:MAX_TEXT]}' is not the id of a request"


def _read_moment(text: str) -> float | None:
    """Return a time in seconds since 1970, 0 for an empty text, and None for an invalid one."""
    if not text:
        return 0.0
    try:
        return max(now() - seconds(text), 0.0)
    except FlowError:
        moment = parse_datetime(text)
    return None if moment is None else max(moment.timestamp(), 0.0)


PANEL = Panel(
    "Run", 10, "Requests", "pulse", "/requests", Permission.READ_REQUESTS, in_drafts=True,
    actions=(("Find a failed request", Permission.READ_REQUESTS),),
)  # fmt: skip
ROUTES = (show_requests,)
