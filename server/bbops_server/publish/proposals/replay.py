"""Replay requests of the live API on a proposal's draft, and compare the responses.

Only a sample is replayed: the newest public GET of each route and status. The result is
information only, and never blocks a merge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from time import monotonic
from typing import Any, Final

from bbops.interfaces.answers import ChangedResponse, ChangedValue, ReplayResult
from bbops.review.replay.recorded import Recorded, choose
from bbops.review.replay.sending import ReplayDifference, replay
from bbops_server.data_plane.live.history import find

MAX_READ: Final = 1_000
MAX_REPLAYED: Final = 50
MAX_SECONDS: Final = 60.0
"""The time after which no other request is sent."""
ANSWER_SECONDS: Final = 10.0

_MAX_DIFFERENCES: Final = 10
_MAX_SHOWN: Final = 200


def replay_sample(
    history: Path, url: str, headers: Mapping[str, str], *, head: str, at: float
) -> ReplayResult:
    """Replay recorded requests on a draft; blocks for about MAX_SECONDS at most.

    Args:
        history: the history of the live project.
        url: the local address of the draft.
        headers: the Host header, and the token of the draft.
        head: the commit that the draft serves.
        at: the current time.

    Raises:
        ServerError: the draft does not respond.
    """
    recorded = sample(find(history, limit=MAX_READ, method="GET", details=True))
    replayable = [request for request in recorded if not request.obstacle]
    until = monotonic() + MAX_SECONDS
    requests = takewhile(lambda _: monotonic() < until, replayable)
    results = list(replay(url, requests, headers, timeout_seconds=ANSWER_SECONDS))
    changed = tuple(_describe(request, found) for request, found in results if found)
    return ReplayResult(head, at, len(results), len(recorded) - len(results), changed)


def sample(requests: Sequence[Mapping[str, Any]]) -> list[Recorded]:
    """Return the newest request of each route and status, and requests that cannot be replayed.

    Args:
        requests: requests of the history, oldest first.
    """
    return list(_sample(requests))


def _sample(requests: Sequence[Mapping[str, Any]]) -> Iterator[Recorded]:
    gets = [request for request in requests if request["method"] == "GET"]
    seen: set[tuple[str, int]] = set()
    for recorded in reversed([*choose(gets, {}, writes=False)]):
        if recorded.obstacle:
            yield recorded
        elif len(seen) < MAX_REPLAYED and (recorded.route, recorded.status) not in seen:
            seen.add((recorded.route, recorded.status))
            yield recorded


def _describe(request: Recorded, differences: Sequence[ReplayDifference]) -> ChangedResponse:
    now = next((int(each.now) for each in differences if each.at == "status"), request.status)
    places = tuple(
        ChangedValue(_cut(each.at), each.before, each.now)
        for each in differences
        if each.at != "status"
    )
    return ChangedResponse(
        request.method, _cut(request.route), _cut(request.target), request.status, now,
        places[:_MAX_DIFFERENCES],
    )  # fmt: skip


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"
