"""Run every server in turn, round after round, and compare what belongs to one round.

Neighbours on the machine slow down both sides of a pair; the median of the pairs' ratios is what
stays. CPU time per request is disturbed least.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from tests.bench import processes
from tests.bench.contests import Contest, Run
from tests.bench.load.generator import saturate
from tests.bench.servers import SERVERS, Server
from tests.support.patience import PATIENCE_SECONDS

BUSY_SECONDS = 5.0
"""How long to look again where a busy machine let nothing be answered in the time given."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What one run of one round showed."""

    requests: int
    failed: int
    requests_per_second: float
    cpu_microseconds: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """Medians over all rounds; ratios above 1 say that ours is faster."""

    contest: Contest
    ours: Sample
    other: Sample
    ratio_by_cpu: float
    ratio_by_rate: float


@dataclass(frozen=True, slots=True)
class Duels:
    """Every contest's outcome, and what our process needed for its part in them."""

    outcomes: Sequence[Outcome]
    requests: int
    megabytes_before: float
    megabytes_after: float


async def measure(
    contests: Sequence[Contest],
    folder: Path,
    *,
    rounds: int,
    seconds: float,
    at_least: int = 0,
    memory_of: str = "ours",
) -> Duels:
    """Run every contest `rounds` times; each run lasts `seconds`.

    Args:
        at_least: requests to the server whose memory is measured, before that.
        memory_of: which one that is.
    """
    runs = _different(run for contest in contests for run in (contest.ours, contest.other))
    samples: dict[tuple[str, str], list[Sample]] = {_key(run): [] for run in runs}
    async with AsyncExitStack() as stack:
        servers = await _start({run.server for run in runs}, folder, stack)
        ours = servers[memory_of].pid
        check_agreement(runs, servers)
        for run in runs:
            await _sample(run, servers[run.server], min(seconds, 1.0))
        before = processes.resident_megabytes(ours)
        for turn in range(rounds):
            for run in _rotated(runs, turn):
                samples[_key(run)].append(await _sample(run, servers[run.server], seconds))
        asked = (found for (server, _), found in samples.items() if server == memory_of)
        requests = sum(one.requests for found in asked for one in found)
        first = next(run for run in runs if run.server == memory_of)
        while requests < at_least:
            requests += (await _sample(first, servers[memory_of], seconds)).requests
        after = processes.resident_megabytes(ours)
    return Duels([_outcome(contest, samples) for contest in contests], requests, before, after)


def check_agreement(runs: Iterable[Run], servers: Mapping[str, Server]) -> None:
    """Ask every server once: they do the same work only if they give the same answer."""
    answers: dict[str, tuple[str, Any]] = {}
    for run in runs:
        name, found = run.shot.name, _answer(run, servers[run.server].port)
        first, expected = answers.setdefault(name, (run.server, found))
        assert found == expected, f"{run.server} and {first} answer '{name}' differently"


def _answer(run: Run, port: int) -> Any:
    shot = run.shot
    reply = httpx.request(
        shot.method, f"http://127.0.0.1:{port}{shot.paths[0]}", headers=list(shot.headers),
        content=shot.body, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    assert reply.status_code == shot.status, (run.server, shot.name, reply.text)
    return {name: value for name, value in reply.json().items() if name != "created_at"}


async def _start(names: Iterable[str], folder: Path, stack: AsyncExitStack) -> dict[str, Server]:
    servers = {}
    for name in sorted(names):
        place = folder / name.replace(" ", "-")  # the path of a socket has no blanks
        place.mkdir()
        servers[name] = await stack.enter_async_context(SERVERS[name](place))
    return servers


async def _sample(run: Run, server: Server, seconds: float) -> Sample:
    for looked in (seconds, BUSY_SECONDS):
        before = processes.cpu_nanoseconds(server.pid)
        count = await asyncio.to_thread(saturate, run.shot, server.port, looked)
        spent = processes.cpu_nanoseconds(server.pid) - before
        if count.requests:
            break
    assert count.requests, f"{run.server} does not answer {run.shot.name}"
    return Sample(
        count.requests, count.failed, count.requests / count.seconds, spent / 1000 / count.requests
    )


def _outcome(contest: Contest, samples: Mapping[tuple[str, str], Sequence[Sample]]) -> Outcome:
    ours, other = samples[_key(contest.ours)], samples[_key(contest.other)]
    pairs = list(zip(ours, other, strict=True))
    return Outcome(
        contest, _middle(ours), _middle(other),
        median(two.cpu_microseconds / one.cpu_microseconds for one, two in pairs),
        median(one.requests_per_second / two.requests_per_second for one, two in pairs),
    )  # fmt: skip


def _middle(samples: Sequence[Sample]) -> Sample:
    return Sample(
        sum(one.requests for one in samples),
        sum(one.failed for one in samples),
        median(one.requests_per_second for one in samples),
        median(one.cpu_microseconds for one in samples),
    )


def _different(runs: Iterable[Run]) -> list[Run]:
    return list({_key(run): run for run in runs}.values())


def _rotated(runs: Sequence[Run], by: int) -> list[Run]:
    at = by % len(runs)
    return [*runs[at:], *runs[:at]]


def _key(run: Run) -> tuple[str, str]:
    return run.server, run.shot.name
