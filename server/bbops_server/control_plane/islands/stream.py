"""The live view of a project: its state and newest requests, as server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Hashable
from typing import Annotated, Any, Final

import msgspec
from litestar.exceptions import (
    ClientException,
    NotAuthorizedException,
    NotFoundException,
    ServiceUnavailableException,
)
from litestar.params import FromPath, QueryParameter
from litestar.response import Stream

from bbops.base.json_traffic import summarize_refusal
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.projects.front import find_state
from bbops_server.control_plane.projects.requests import Id, find_history
from bbops_server.control_plane.projects.visited_project import PROJECT
from bbops_server.control_plane.web.broadcasts import Read, TooManyViewers
from bbops_server.control_plane.web.outline_page import OutlineLinks
from bbops_server.control_plane.web.routes import read, require_permission
from bbops_server.control_plane.web.state import ControlState
from bbops_server.control_plane.web.visit import Here, Visit
from bbops_server.data_plane.live.history import HistoryTail

TOPICS: Final = {
    "status": Permission.READ_PROJECT, "requests": Permission.READ_REQUESTS,
}  # fmt: skip
CHECK_SECONDS: Final = 40.0
"""The time after which the sign-in is checked before the next frame, such as a ping; it is also
checked before a frame that follows a change of the accounts."""
_RETRY: Final = b"retry: 1000\n\n"
_HEADERS: Final = {"cache-control": "no-store", "x-accel-buffering": "no"}
_ROW: Final = ("id", "at", "status", "method", "path", "endpoint", "user")

Topics = Annotated[str, QueryParameter(max_length=100)]
Draft = Annotated[str, QueryParameter(name="in", max_length=400)]


@read(f"{PROJECT}/stream", Permission.READ_PROJECT)
async def stream_changes(
    visit: Here, name: FromPath[str], of: Topics = "", draft: Draft = "", after: Id = 0
) -> Stream:
    """Server-sent events of a project: `of` names 'status', 'requests' or both, with a comma.

    `status` has the state and the live revision, first as they are. `requests` has at most 50 new
    requests at a time, about every 0.25 seconds, and the number of those left out; a request may
    come twice. `after` is the last known id, unless the header Last-Event-ID has it. `in` is the
    slug of a draft.
    """
    topics = [*dict.fromkeys(topic for topic in of.split(",") if topic)]
    if not topics or not set(topics) <= set(TOPICS):
        raise ClientException(f"of '{of}' is not a list of {', '.join(TOPICS)}")
    for topic in topics:
        await require_permission(visit, TOPICS[topic], name)
    watched = [_SUBJECTS[topic](visit, name, draft, _read_last(visit, after)) for topic in topics]
    frames = _send_frames(visit, name, topics, watched)
    await anext(frames)  # a server that is full rejects the request before its response begins
    return Stream(frames, media_type="text/event-stream", headers=_HEADERS)


def _read_last(visit: Visit, after: int) -> int:
    """Return the id of the last event that the browser has received."""
    given = visit.request.headers.get("last-event-id", "")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 16 else after


async def _send_frames(
    visit: Visit, name: str, topics: list[str], watched: list[ProjectSubject]
) -> AsyncIterator[bytes]:
    """Yield an empty frame, then frames until the sign-in or the server ends."""
    clock = asyncio.get_running_loop().time
    subjects = {subject.key: subject.follow for subject in watched}
    try:
        user = visit.caller.person or visit.caller.how
        with visit.control.broadcasts.view(subjects, user) as viewer:
            yield b""
            yield _RETRY + b"".join([await subject.read_first() for subject in watched])
            check_at, edition = clock() + CHECK_SECONDS, visit.book.edition
            while (frame := await viewer.next()) is not None:
                if clock() >= check_at or visit.book.edition is not edition:
                    check_at, edition = clock() + CHECK_SECONDS, visit.book.edition
                    if not await _is_still_allowed(visit, name, topics):
                        return
                yield frame
    except TooManyViewers:
        raise ServiceUnavailableException(
            "too many live views are open", headers={"retry-after": "5"}
        ) from None


async def _is_still_allowed(visit: Visit, name: str, topics: list[str]) -> bool:
    again = Visit(visit.request, visit.control)
    try:
        await again.identify()
    except NotAuthorizedException:
        return False
    return all(again.may(TOPICS[topic], name) for topic in topics)


class StatusSubject:
    """The state of a project."""

    def __init__(self, visit: Visit, name: str, _draft: str, _after: int) -> None:
        """Raises: NotFoundException: the project does not exist."""
        if visit.control.project(name) is None:
            raise NotFoundException(f"there is no project '{name}'")
        self.key: Hashable = ("status", name)
        self._control, self._name = visit.control, name

    def follow(self) -> Read:
        """Return a reader of changes from now on."""
        reader = _StatusReader(self._control, self._name)
        reader.read_change()
        return reader.read

    async def read_first(self) -> bytes:
        """Return the present state."""
        return _StatusReader(self._control, self._name).read_change()


class _StatusReader:
    def __init__(self, control: ControlState, name: str) -> None:
        self._control, self._name, self._frame = control, name, b""

    async def read(self) -> bytes:
        return self.read_change()

    def read_change(self) -> bytes:
        """Return the state if it has changed since the last call; empty otherwise."""
        status = self._control.project(self._name)
        if status is None:
            return b""
        data = {"state": find_state(status), "revision": status.applied_revision or ""}
        frame = _frame("status", data)
        is_new, self._frame = frame != self._frame, frame
        return frame if is_new else b""


class RequestSubject:
    """The requests of a project or draft."""

    def __init__(self, visit: Visit, name: str, draft: str, after: int) -> None:
        """Raises: NotFoundException: the project or the draft does not exist."""
        self._history, self._after = find_history(visit, name, draft), after
        self._links, self._run = OutlineLinks(name, draft), visit.control.run
        self.key: Hashable = ("requests", self._history)

    def follow(self) -> Read:
        """Return a reader of new requests."""
        return self._reader()

    async def read_first(self) -> bytes:
        """Return the requests since the last that the browser knows."""
        return await self._reader()()

    def _reader(self) -> Read:
        tail = HistoryTail(self._history, self._after)

        async def read_frame() -> bytes:
            rows, skipped = await self._run(tail.read)
            if not rows:
                return b""
            data = {"rows": [self._show(row) for row in rows], "skipped": skipped}
            return b"id: %d\n%b" % (tail.last, _frame("requests", data))

        return read_frame

    def _show(self, row: dict[str, Any]) -> dict[str, Any]:
        links, refusal = self._links, row["refusal"] or {}
        step = row["step"] or refusal.get("place", "")
        return {name: row[name] for name in _ROW} | {
            "failure": row["failure"] or summarize_refusal(refusal), "step": step,
            "milliseconds": round(row["milliseconds"], 1),
            "url": links.request(row["id"]), "step_url": links.place(step),
            "endpoint_url": links.endpoint(row["endpoint"]) if row["endpoint"] else "",
        }  # fmt: skip


ProjectSubject = StatusSubject | RequestSubject
_SUBJECTS: Final[dict[str, Callable[[Visit, str, str, int], ProjectSubject]]] = {
    "status": StatusSubject, "requests": RequestSubject,
}  # fmt: skip


def _frame(event: str, data: object) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (event.encode(), msgspec.json.encode(data))


ROUTES = (stream_changes,)
