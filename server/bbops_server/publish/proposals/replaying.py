"""Ask the draft of a proposal what was asked of the live API, and say which responses would change.

Only a sample: GETs that anybody could have sent, the newest of each route and status. It tells, and
never stands in the way of a merge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from time import monotonic
from typing import Any, Final

from bbops.interfaces.answers import ChangedResponse, ChangedValue, ReplayResult
from bbops.review.replay.comparing import Difference
from bbops.review.replay.recorded import Recorded, choose
from bbops_server.data_plane.live.history import find

MOST_LOOKED_AT: Final = 1_000
MOST_ASKED: Final = 50
MOST_SECONDS: Final = 60.0
"""After these no other request is begun."""
ANSWER_SECONDS: Final = 10.0

_MOST_DIFFERENCES: Final = 10
_MOST_SHOWN: Final = 200


def rehearse(
    history: Path, url: str, headers: Mapping[str, str], *, head: str, at: float
) -> ReplayResult:
    """Ask a draft again; blocks for about MOST_SECONDS at most.

    Args:
        history: of the live project.
        url: of the draft.
        headers: what lets into it.
        head: the commit that it serves.
        at: the time.

    Raises:
        ServerError: nobody answers there.
    """
    from bbops.review.replay.sending import replay  # noqa: PLC0415 - httpx, which few servers need

    recorded = sample(find(history, limit=MOST_LOOKED_AT, method="GET", details=True))
    can = [one for one in recorded if not one.obstacle]
    until = monotonic() + MOST_SECONDS
    asking = takewhile(lambda _: monotonic() < until, can)
    found = list(replay(url, asking, headers, timeout_seconds=ANSWER_SECONDS))
    changed = tuple(_tell(one, differences) for one, differences in found if differences)
    return ReplayResult(head, at, len(found), len(recorded) - len(found), changed)


def sample(requests: Sequence[Mapping[str, Any]]) -> list[Recorded]:
    """Return the newest request of each route and status, and those that cannot be asked.

    Args:
        requests: of the history, the oldest first.
    """
    return list(_sample(requests))


def _sample(requests: Sequence[Mapping[str, Any]]) -> Iterator[Recorded]:
    gets = [one for one in requests if one["method"] == "GET"]
    seen: set[tuple[str, int]] = set()
    for one in reversed([*choose(gets, {}, writes=False)]):
        if one.obstacle:
            yield one
        elif len(seen) < MOST_ASKED and (one.route, one.status) not in seen:
            seen.add((one.route, one.status))
            yield one


def _tell(one: Recorded, differences: Sequence[Difference]) -> ChangedResponse:
    now = next((int(each.now) for each in differences if each.at == "status"), one.status)
    places = tuple(
        ChangedValue(_cut(each.at), each.before, each.now)
        for each in differences
        if each.at != "status"
    )
    return ChangedResponse(
        one.method, _cut(one.route), _cut(one.target), one.status, now, places[:_MOST_DIFFERENCES]
    )


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 1] + "…"
