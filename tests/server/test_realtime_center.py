"""The center of topics, apart from processes and sockets: whom it takes, and what it tells them."""

from __future__ import annotations

import pytest

from bbops_server.data_plane.realtime.fanout.center import Center
from bbops_server.data_plane.realtime.fanout.frames import Down, Join, Part, Seen

pytestmark = pytest.mark.quick


class Process:
    """A process with subscribers, as the center sees it: what it is told."""

    def __init__(self) -> None:
        self.told: list[Down] = []

    def tell(self, frame: Down) -> None:
        self.told.append(frame)


def test_a_topic_shows_a_thousand_subscribers_and_refuses_another_until_one_leaves() -> None:
    center, process = Center(), Process()
    center.add(process)

    def join(number: int) -> str:
        center.hear(process, Join(number, "p", "hall", f"c{number}", b"{}", 0, 0.0))
        seen = process.told[-1]
        assert isinstance(seen, Seen)
        return seen.refusal

    assert {join(number) for number in range(1_000)} == {""}
    assert join(1_000) == "the topic has 1,000 subscribers"
    center.hear(process, Part("p", "hall", "c7"))
    assert join(1_001) == ""
