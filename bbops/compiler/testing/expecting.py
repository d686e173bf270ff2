"""What a case expects of events, jobs and messages, and what there was of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bbops.base.host import Host
from bbops.compiler.testing.host import KeptEvents
from bbops.compiler.testing.values import compute, differences, plain, shown
from bbops.compiler.testing.working import Left, Working
from bbops.language.resources.test import Expect

Message = tuple[str, Mapping[str, Any], str, Any]
Sent = tuple[str, str, Any, Any]
Wrongs = Iterator[tuple[str, str]]
MaskField = Callable[[str, Any], Any]


@dataclass(frozen=True, slots=True)
class FoundWork:
    """What a case has led to.

    Attributes:
        events: names of what was emitted.
        jobs: (function, input) of what was enqueued.
        published: (realtime, params, event, payload).
        sent: (webhook, event, owner, payload).
        left: jobs that do not go on by themselves.
        is_endless: there was always more to do.
    """

    events: Sequence[str]
    jobs: Sequence[tuple[str, Any]]
    published: Sequence[Message]
    sent: Sequence[Sent]
    left: Sequence[Left] = ()
    is_endless: bool = False


async def found_work(working: Working | None, kept: KeptEvents) -> FoundWork:
    """Return what a case has led to, in its queue, or as its doors have kept it."""
    if working is None:
        events = [name for name, _ in kept.emitted]
        return FoundWork(events, [*kept.jobs.values()], kept.published, kept.sent)
    return FoundWork(
        await working.events(), await working.jobs(), kept.published, await working.sent(),
        await working.left(), working.is_endless,
    )  # fmt: skip


def wrong_work(found: FoundWork, expect: Expect, host: Host, mask: Any) -> Wrongs:
    """Yield what is not as expected, and where that is written below `expect`."""
    if found.is_endless:
        yield "there is always more work to do: something starts itself again", ""
    yield from _events(found, expect)
    if expect.jobs is not None:
        wanted = [
            {"function": one.function} | _part("input", one.input, host) for one in expect.jobs
        ]
        jobs = [{"function": name, "input": plain(given)} for name, given in found.jobs]
        for path, message in differences(wanted, jobs, "", mask):
            yield f"jobs{path}: {message}", "jobs"
    yield from _published(found, expect, host, mask)
    yield from _sent(found, expect, host, mask)
    yield from _left(found, expect)


def _events(found: FoundWork, expect: Expect) -> Wrongs:
    names = [*found.events, *(one[2] for one in found.published)]
    if expect.events is not None and sorted(names) != sorted(expect.events):
        yield f"expected events {shown(expect.events)}, found {shown(names)}", "events"


def _published(found: FoundWork, expect: Expect, host: Host, mask: Any) -> Wrongs:
    if expect.published is None:
        return
    wanted = [
        {"realtime": one.realtime, "event": one.event}
        | _part("params", one.params, host) | _part("payload", one.payload, host)
        for one in expect.published
    ]  # fmt: skip
    messages = [
        {"realtime": name, "event": event, "params": plain(params), "payload": plain(payload)}
        for name, params, event, payload in found.published
    ]
    for path, message in differences(wanted, messages, "", mask):
        yield f"published{path}: {message}", "published"


def _sent(found: FoundWork, expect: Expect, host: Host, mask: Any) -> Wrongs:
    if expect.sent is None:
        return
    wanted = [
        {"webhook": one.webhook, "event": one.event}
        | _part("owner", one.owner, host) | _part("payload", one.payload, host)
        for one in expect.sent
    ]  # fmt: skip
    names = ("webhook", "event", "owner", "payload")
    messages = [dict(zip(names, map(plain, one), strict=True)) for one in found.sent]
    for path, message in differences(wanted, messages, "", mask):
        yield f"sent{path}: {message}", "sent"


def _part(key: str, value: Any, host: Host) -> dict[str, Any]:
    return {} if value is None else {key: plain(compute(value, host))}


def _left(found: FoundWork, expect: Expect) -> Wrongs:
    dead = [one.work for one in found.left if one.state == "dead"]
    if expect.dead is not None and sorted(dead) != sorted(expect.dead):
        yield f"expected dead jobs {shown(expect.dead)}, found {shown(dead)}", "dead"
    for one in found.left:
        if one.state == "held":
            yield f"a job of '{one.work}' is held: {one.error}", ""
        elif expect.dead is None:
            yield f"a job of '{one.work}' failed for the last time: {one.error}", ""
