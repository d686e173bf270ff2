"""Find the project that answers a request: by its host, then by the longest prefix of its path.

A server of one project has no table to ask: `only` is that project.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from bbops_server.data_plane.live.swap import Live
from bbops_server.process.messages.projects import EVERYWHERE, ProjectPlace

_ByPrefix = dict[bytes, Live]


class Directory:
    """Every project of a data-plane process. Begins with one, called `""`, that answers it all."""

    def __init__(self, make: Callable[[], Live]) -> None:
        """`make` makes the entry of a project that is new here."""
        self._make = make
        self.only: Live | None = make()
        self.projects: dict[str, Live] = {"": self.only}
        self._places: Mapping[str, ProjectPlace] = {"": EVERYWHERE}
        self._hosts: dict[bytes, _ByPrefix] = {}
        self._anywhere: _ByPrefix = {}
        self._depth = 0
        self._leaving: dict[asyncio.Task[None], Live] = {}

    def arrange(self, places: Mapping[str, ProjectPlace]) -> None:
        """Let these projects answer, and no others; what is under way ends where it began."""
        kept = {name: self.projects.get(name) or self._make() for name in places}
        gone = [live for name, live in self.projects.items() if name not in kept]
        self.projects, self._places = kept, places
        self._hosts, self._anywhere, self._depth = {}, {}, 0
        for name, place in places.items():
            self._add(place, kept[name])
        is_plain = [(place.hosts, place.prefix) for place in places.values()] == [((), "")]
        self.only = next(iter(kept.values())) if is_plain else None
        for live in gone:
            self._retire(live)

    def find(self, scope: Any) -> Live | None:
        """Return the project a request is for, and cut its prefix off the request's path.

        None when no project answers there. O(segments of the longest prefix).
        """
        path: bytes = scope.get("raw_path") or scope["path"].encode()
        named = self._hosts.get(read_host(scope)) if self._hosts else None
        for table in (named, self._anywhere):
            for end in _ends(path, self._depth) if table else ():
                live = table.get(path[:end]) if table else None
                if live is not None:
                    # a prefix is plain ASCII: it is as long decoded as it was sent
                    scope["raw_path"] = path[end:] or b"/"
                    scope["path"] = scope["path"][end:] or "/"
                    scope["root_path"] = path[:end].decode("ascii")
                    return live
        return None

    def readiness(self) -> tuple[bool, dict[str, str | None]]:
        """Return whether every project that was ever live is, and the release of each."""
        releases = {
            name or live.project: live.release.name if live.release else None
            for name, live in self.projects.items()
        }
        waits = any(
            self._places[name].was_live and live.release is None
            for name, live in self.projects.items()
        )
        return not waits and (not releases or any(releases.values())), releases

    async def close(self) -> None:
        """Close what every project has open; nothing is answered after this."""
        leaving = dict(self._leaving)
        for task in leaving:
            task.cancel()
        lives = (*self.projects.values(), *leaving.values())
        await asyncio.gather(*(live.close() for live in lives))

    def _add(self, place: ProjectPlace, live: Live) -> None:
        prefix = place.prefix.encode()
        self._depth = max(self._depth, prefix.count(b"/"))
        for host in place.hosts:
            self._hosts.setdefault(host.encode(), {})[prefix] = live
        if not place.hosts:
            self._anywhere[prefix] = live

    def _retire(self, live: Live) -> None:
        task = asyncio.create_task(live.retire())
        self._leaving[task] = live
        task.add_done_callback(lambda done: self._leaving.pop(done, None))


def read_host(scope: Any) -> bytes:
    """Return the name in the Host header, without a port; there is exactly one such header."""
    for name, value in scope["headers"]:
        if name == b"host":
            host: bytes = value.partition(b":")[0]
            return host.lower().rstrip(b".")
    return b""


def _ends(path: bytes, depth: int) -> list[int]:
    """Return where prefixes of a path end, the longest of at most `depth` segments first."""
    ends, at = [0], 0
    for _ in range(depth):
        at = path.find(b"/", at + 1)
        if at < 0:
            ends.append(len(path))
            break
        ends.append(at)
    return ends[::-1]
