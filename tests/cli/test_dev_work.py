"""`bbops dev` prints what happens outside of requests: ticks, events, jobs, sent webhooks."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from bbops.runtime.work.worker import TickReport
from bbops_server.commands._report import Terminal, lines_of
from bbops_server.data_plane.live.request_lines import MOST_WAITING
from bbops_server.data_plane.work.counting import WorkLines
from bbops_server.process.messages.channel import ProcessChannel
from bbops_server.process.messages.reports import (
    EventLogged,
    JobEnded,
    JobStarted,
    LinesMissed,
    MessagePublished,
    Reported,
    TaskTicked,
)
from tests.support.realtime import talker
from tests.support.served import Served
from tests.support.small_project import endpoint, write_project

FILES = {
    "functions/order.yaml": (
        "input: { number: integer }\nsteps:\n"
        '  - emit: { event: order.paid, payload: { number: "${ input.number }" } }\n'
    ),
    "endpoints/order.yaml": endpoint("POST", "/orders", "order"),
    "triggers/paid.yaml": (
        "event: order.paid\nfunction: fulfil\nretry: { attempts: 2, backoff: 1s }\n"
    ),
    "functions/fulfil.yaml": (
        "payload: { number: integer }\nsteps:\n"
        "  - if: event.payload.number == 13\n    then:\n"
        "      - throw: { status: 500, message: nobody buys number 13 }\n"
        "  - publish: { realtime: orders, params: { id: '${ event.payload.number }' },\n"
        "               event: order.fulfilled, payload: { number: 1 } }\n"
    ),
    "realtime/orders.yaml": (
        "topic: orders/:id\nauthentication: None\npublish: true\n"
        "events: { order.fulfilled: { number: integer }, order.seen: { by?: string } }\n"
    ),
    "tasks/beat.yaml": "every: 1s\nfunction: beat\n",
    "functions/beat.yaml": "steps: [{ log: { message: beat } }]\n",
    "triggers/added.yaml": "database: { table: notes, operation: insert }\nfunction: beat\n",
}


class Dev(Served):
    verb = "dev"

    def until(self, **wanted: Any) -> list[dict[str, Any]]:
        """Return what happens up to an event with these values."""
        found = list[dict[str, Any]]()
        while not found or not wanted.items() <= found[-1].items():
            found.append(self.events.get(timeout=30))
            assert found[-1]["event"] != "ended"
        return found


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    folder = tmp_path_factory.mktemp("dev-work")
    with Dev(write_project(folder / "shop", FILES), folder / "home") as server:
        server.live()
        yield server


def of(events: list[dict[str, Any]], *, work: str) -> list[dict[str, Any]]:
    """Return events of one work, without what differs each time."""
    found = [one for one in events if one.get("work") == work or work in one.get("starts", [])]
    return [
        {key: one for key, one in event.items() if key not in {"milliseconds", "job"}}
        for event in found
    ]


@pytest.mark.long
def test_an_event_and_its_job_are_reported_up_to_its_end(dev: Dev) -> None:
    dev.api.post("/orders", json={"number": 7})
    assert of(dev.until(event="job", work="triggers/paid"), work="triggers/paid") == [
        {"event": "event", "name": "order.paid", "starts": ["triggers/paid"]},
        {"event": "jobStarted", "work": "triggers/paid", "attempt": 1},
        {"event": "job", "work": "triggers/paid", "outcome": "done", "attempt": 1, "reason": "",
         "at": ""},
    ]  # fmt: skip


@pytest.mark.long
def test_a_job_that_fails_is_reported_with_file_and_line_and_each_attempt(dev: Dev) -> None:
    dev.api.post("/orders", json={"number": 13})
    found = of(dev.until(event="job", outcome="dead"), work="triggers/paid")
    assert [(one["event"], one.get("outcome")) for one in found] == [
        ("event", None), ("jobStarted", None), ("job", "retrying"), ("jobStarted", None),
        ("job", "dead"),
    ]  # fmt: skip
    assert (found[2]["reason"], found[2]["at"]) == (
        "nobody buys number 13", "functions/fulfil.yaml:5"
    )  # fmt: skip
    assert [one.get("attempt") for one in found] == [None, 1, 1, 2, 2]


@pytest.mark.long
def test_messages_are_reported_whoever_publishes_them(dev: Dev) -> None:
    dev.api.post("/orders", json={"number": 8})
    dev.until(event="message", topic="orders/8", name="order.fulfilled")
    with talker(dev) as ann:  # the job of the order may end after this test
        message = {"event": "order.seen", "payload": {"by": "a secret"}}
        assert ann.ask("publish", channel="orders/9", data=message) == {}
    found = dev.until(event="message", topic="orders/9", name="order.seen")
    assert "secret" not in str(found)
    assert lines_of(MessagePublished("orders/9", "order.seen")) == ["PUBLISH  orders/9  order.seen"]


@pytest.mark.long
def test_ticks_and_changed_rows_are_reported(dev: Dev) -> None:
    dev.until(event="tick", task="tasks/beat", runs=1, missed=0)
    dev.until(event="jobStarted", work="tasks/beat")
    dev.until(event="job", work="tasks/beat", outcome="done")
    dev.api.post("/notes", json={"title": "one"})
    dev.until(event="event", name="notes insert", starts=["triggers/added"])


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (JobStarted("tasks/beat", "tasks/beat@1", 1), "JOB      tasks/beat  started"),
        (JobStarted("tasks/beat", "tasks/beat@1", 2), "JOB      tasks/beat  started  attempt 2"),
        (
            JobEnded("triggers/a", "a@1", "retrying", 2, 1.25, "oh\n\x1b[2J", "f.yaml:3"),
            "JOB      triggers/a  retrying  in 1.2 ms  attempt 2  oh\\n\\x1b[2J  f.yaml:3",
        ),
        (
            JobEnded("webhooks/partners", "webhooks/partners@msg_1/URL", "done", 1, 9),
            "SEND     webhooks/partners@msg_1/URL  done  in 9.0 ms",
        ),
        (TaskTicked("tasks/beat", 1), "TICK     tasks/beat"),
        (TaskTicked("tasks/beat", 1, 3), "TICK     tasks/beat  3 runs missed"),
        (EventLogged("order.paid", []), "EVENT    order.paid"),
        (
            EventLogged("notes insert", ["triggers/a", "triggers/b"]),
            "EVENT    notes insert  starts triggers/a, triggers/b",
        ),
        (LinesMissed(1), "         1 line not shown"),
    ],
)
def test_a_terminal_shows_a_line_of_it(
    event: Reported, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Terminal(mode="dev")("", event)
    assert capsys.readouterr().out == f"{line}\n"
    assert len(lines_of(event)) == 1


def test_what_a_slow_terminal_does_not_read_is_counted_and_not_kept() -> None:
    async def run() -> list[Any]:
        ours, theirs = socket.socketpair()
        with theirs:
            channel = await ProcessChannel.open(ours)
            lines = WorkLines(channel)
            for _ in range(20_000):
                lines.happened(TickReport("tasks/beat", 1))
            return [channel.waiting, lines._missed]

    waiting, missed = asyncio.run(run())
    assert waiting == MOST_WAITING
    assert missed == 20_000 - MOST_WAITING
