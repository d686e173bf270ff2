"""The topics of what is live, and of what is linked beside it."""

from __future__ import annotations

import marshal
from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from pathlib import Path

from bbops.database.schema.place import Place, PostgresPlace
from bbops.runtime.linking.release import Release
from bbops.runtime.realtime.linking import Judge, link_topics
from bbops.runtime.realtime.topics import Kept, Publisher, Topics
from bbops_server.data_plane.realtime.fanout.end import End
from bbops_server.data_plane.realtime.fanout.frames import Changed
from bbops_server.data_plane.realtime.fanout.shared import name_shared
from bbops_server.data_plane.realtime.hub import Hub


class _Carrier:
    """Carries messages of one project."""

    def __init__(self, end: End, project: str) -> None:
        self._end, self.project = end, project

    def publish(self, name: str, data: bytes, kept: Kept | None, *, is_counted: bool) -> None:
        """Send a message to subscribers, wherever they are."""
        self._end.publish(self.project, name, data, kept, is_counted=is_counted)


class LiveTopics:
    """One project's topics in a process; its clients stay connected across releases."""

    def __init__(self, end: End, wait: Callable[[], Awaitable[None]]) -> None:
        """Args: `wait`: returns once the project's requests may go on."""
        self._end, self.hub = end, Hub(end, wait)
        self.place: Place = Path()
        self._linked: tuple[Topics, Judge, Mapping[str, bool]] | None = None

    @property
    def project(self) -> str:
        """What processes call the project: by the place of its database, which all of them know.

        That may hold a password, so it is not named.
        """
        name = sha256(str(self.place).encode()).hexdigest()[:16]
        return name_shared(name) if self.is_shared else name

    @property
    def is_shared(self) -> bool:
        """Whether other servers may serve the project from the same database."""
        return isinstance(self.place, PostgresPlace)

    def publisher(self) -> Publisher:
        """Return the door of a release, which has yet to get its topics."""
        return Publisher(_Carrier(self._end, self.project))

    def link(self, artifact: bytes, release: Release, door: Publisher) -> None:
        """Link the topics of a release, and keep them for `swap`."""
        topics = door.topics = link_topics(artifact, release)
        door.events = release.answering.host.events
        origins = dict(marshal.loads(artifact)["origins"])  # noqa: S302 - our own file
        judge = Judge(release.answering, release.active_requests)
        self._linked = topics, judge, origins

    def tell_row(self, number: int, event: str, payload: str) -> None:
        """Show a changed row to the clients of this process."""
        self.hub.change(Changed(self.project, number, event, payload))

    @property
    def need_center(self) -> bool:
        """Whether what is linked has topics that one process numbers."""
        return self._linked is not None and self._linked[0].need_center

    @property
    def has_topics(self) -> bool:
        """Whether what is linked has topics."""
        return self._linked is not None and bool(self._linked[0])

    def swap(self) -> None:
        """Decide by what is linked from now on."""
        if self._linked is not None:
            if self._linked[0]:
                self._end.open()
            if self._linked[0] or self.hub.topics:
                self.hub.use(self.project, *self._linked)

    def close(self) -> None:
        """End every connection."""
        self.hub.close()
        self._end.leave(self.project)
