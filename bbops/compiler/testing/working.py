"""The jobs of a case: run one after the other, by a clock that jumps."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from bbops.base.host import Host
from bbops.compiler.testing.client import Client
from bbops.compiler.testing.cut import Crash, CutDatabase
from bbops.compiler.testing.host import StillClock
from bbops.compiler.testing.outcome import Answer
from bbops.compiler.testing.requests import read
from bbops.compiler.testing.values import compute, plain
from bbops.language.project import Resource
from bbops.language.resources.test import LaterEvent
from bbops.language.resources.trigger import Trigger
from bbops.runtime.agents.control import AgentControl
from bbops.runtime.http.in_flight import ActiveRequest
from bbops.runtime.linking.work import Work
from bbops.runtime.values.units import seconds
from bbops.runtime.work.events import EventOutbox
from bbops.runtime.work.run_record import RunRecord
from bbops.runtime.work.sent_webhooks import FAN_OUT, WEBHOOKS
from bbops.runtime.work.sql_engine import SqlEngine
from bbops.runtime.work.statements import WorkDialect, emit, enqueue
from bbops.runtime.work.values import NewJob, ProjectEvent, is_reserved
from bbops.runtime.work.webhooks import webhook_event
from bbops.runtime.work.worker import Attempt, WorkPlan, run_attempt

# ---- Events that a case lets happen while its jobs wait

GIVEN: Final = "given by the case"
"""The key of events that no function has emitted."""

MOST_ATTEMPTS: Final = 1_000
"""Of jobs of one case."""

_EVENTS: Final = (
    "SELECT name FROM (SELECT 0 AS part, seq AS at, name, key FROM _bbops_events"
    " UNION ALL SELECT 1, id, name, key FROM _bbops_outbox WHERE job IS NULL) AS e"
    f" WHERE key <> '{GIVEN}' ORDER BY part, at"
)

_JOBS: Final = (
    "SELECT work, payload FROM (SELECT 0 AS part, id, work, payload FROM _bbops_jobs UNION ALL"
    " SELECT 0, id, work, payload FROM _bbops_job_log UNION ALL"
    " SELECT 1, id, job, payload FROM _bbops_outbox WHERE job IS NOT NULL) AS j ORDER BY part, id"
)

_LEFT: Final = (
    "SELECT work, state, error FROM _bbops_jobs WHERE state IN ('dead', 'held') ORDER BY id"
)

_HASHES: Final = re.compile(r"\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}")


@dataclass(frozen=True, slots=True)
class Left:
    """A job that has failed for the last time, or is held."""

    work: str
    state: str
    error: str


class Working:
    """The queue of one case, in its own database.

    Attributes:
        attempts: of all jobs, in order.
        coming: events that happen meanwhile, in order.
        is_endless: there was always more to do.
        approves: whether calls of agents are approved; None lets them wait.
    """

    def __init__(self, database: CutDatabase, dialect: WorkDialect, clock: StillClock) -> None:
        self.database, self._dialect, self._clock = database, dialect, clock
        self.attempts, self.is_endless = list[Attempt](), False
        self.approves: bool | None = None
        self.coming, self._starts = list[Coming](), 0
        self._engine = self._start()

    def host(self, host: Host) -> Host:
        """Return doors through which events and jobs go into the queue."""
        return replace(host, events=EventOutbox(self.database, self._dialect, self._now))

    def use(self, work: Work) -> None:
        """Do the work of a release."""
        self._plan, self._work = replace(work.plan, run=self._run), work
        self._listen()

    async def happen(self, name: str, payload: str) -> None:
        """Let an event happen, of which a case is."""
        await self.database.door.write_all([emit(name, payload, self._now(), key=GIVEN)])

    async def begin(self, work: str, payload: str = "{}") -> None:
        """Make a job of a task, or of a turn of a chat."""
        job = NewJob(f"{work}@test", work, payload)
        await self.database.door.write_all([enqueue(job, self._now())])

    async def work_off(self, subject: str = "", *, follows: bool = True) -> None:
        """Work until nothing is left to do.

        Args:
            subject: the work that begins; empty where that has been a request.
            follows: what it emits and enqueues runs, too, and what fails is tried again.
        """
        self.database.is_watched = True
        if subject:
            await self._again(lambda: self._pump(self._only(subject)))
        for _ in range(MOST_ATTEMPTS):
            if not await self._again(lambda: self._one(follows=follows)):
                return
        self.is_endless = True

    async def events(self) -> list[str]:
        """Return the names of the events that functions have emitted, in order."""
        return [name for (name,) in await self.database.door.read(_EVENTS) if is_emitted(name)]

    async def jobs(self) -> list[tuple[str, Any]]:
        """Return the function and the input of each job of `enqueue`, in order."""
        found = list[tuple[str, Any]]()
        for name, payload in await self._made():
            if name.startswith("functions/") and not name.endswith(":dead"):
                found.append((name.removeprefix("functions/"), json.loads(payload)["input"]))
        return found

    async def sent(self) -> list[tuple[str, str, Any, Any]]:
        """Return the webhook, event, owner and payload of each message of `send`, in order."""
        found = list[tuple[str, str, Any, Any]]()
        for work, payload in await self._made():
            if work.startswith(WEBHOOKS) and work.endswith(FAN_OUT):
                given = json.loads(payload)
                webhook = work.removeprefix(WEBHOOKS).removesuffix(FAN_OUT)
                found.append((webhook, given["event"], given.get("owner"), given["payload"]))
        return found

    async def _made(self) -> list[tuple[str, str]]:
        """Return the work and the payload of each job that was made, in order."""
        rows = await self.database.door.read(_JOBS)
        return [(json.loads(work)[1] if work[:1] == "[" else work, one) for work, one in rows]

    async def left(self) -> list[Left]:
        """Return the jobs that do not go on by themselves."""
        return [Left(*row) for row in await self.database.door.read(_LEFT)]

    # ---- one step of the work
    async def _run(self, recorded: RunRecord) -> str | None:
        """Run a job; what `send` sends goes nowhere."""
        if recorded.job.work.startswith(WEBHOOKS):
            recorded.begin()
            return None
        return await self._work.run(recorded)

    async def _one(self, *, follows: bool) -> bool:
        """Run the next job, or let the time come at which one is due; return whether there was."""
        if follows:
            await self._pump(self._plan)
        claimed = await self._engine.claim(1)
        if claimed:
            attempt = await run_attempt(self._engine, claimed[0], self._plan, lambda: 0.5)
            self.attempts.append(attempt)
            return follows or attempt.outcome == "waiting"
        if self.approves is not None and await self._decide(self.approves):
            return True
        due = await self._engine.wake_due()
        if follows and self.coming and (due is None or self.coming[0].at <= due):
            one = self.coming.pop(0)
            self._jump(one.at)
            await self.happen(one.name, one.payload)
            return True
        if due is None:
            return False
        self._jump(due)
        await self._engine.wake_due()
        return True

    async def _decide(self, is_approved: bool) -> bool:
        """Decide about the calls of agents that wait for a person; return whether one did."""
        control, is_new = AgentControl(self.database.door), False
        for approval in await control.approvals(100):
            is_new = True
            await control.decide(
                approval.id, is_approved=is_approved, by="the test", at=self._now()
            )  # fmt: skip
        return is_new and await self._pump(self._plan)

    def _jump(self, at: int) -> None:
        """Let it be a time, unless that is over."""
        self._clock.moment = max(self._clock.moment, datetime.fromtimestamp(at / 1000, UTC))

    async def _pump(self, plan: WorkPlan) -> bool:
        while await self._engine.pump(plan.route, plan.arrange):
            pass
        return True

    def _only(self, subject: str) -> WorkPlan:
        """Return a plan in which events run nothing but the work that a case is about."""

        def route(event: ProjectEvent) -> Sequence[NewJob]:
            return [job for job in self._plan.route(event) if job.work == subject]

        return replace(self._plan, route=route)

    async def _again(self, work: Any) -> bool:
        """Do something; where the process ends meanwhile, another one goes on."""
        try:
            return bool(await work())
        except Crash:
            self.database.revive()
            self._engine = self._start()
            self._listen()
            await self._engine.reclaim()
            return True

    def _start(self) -> SqlEngine:
        self._starts += 1
        return SqlEngine(self.database, self._dialect, f"test-{self._starts}", now=self._now)

    def _listen(self) -> None:
        self._engine.records_cause, self._engine.dead_job_triggers = (
            self._work.hears_rows, self._work.hears_dead,
        )  # fmt: skip

    def _now(self) -> int:
        return round(self._clock.moment.timestamp() * 1000)


def is_emitted(name: str) -> bool:
    """Return whether a step has emitted an event: not a row, a webhook or bbops."""
    return bool(name) and not is_reserved(name) and ":" not in name and "/" not in name


async def read_tables(database: CutDatabase, tables: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the rows of tables, in an order of their own.

    Hashes of passwords are all the same: each has a salt of its own, which is true chance.
    """
    return {
        name: sorted(
            _HASHES.sub("hash", repr(row))
            for row in await database.door.read(f'SELECT * FROM "{name}"')
        )
        for name in sorted(tables)
    }


# ---- Run what a test is about as a job: a trigger by an event, a task by itself


def event_of(trigger: Resource[Trigger], given: Mapping[str, Any]) -> tuple[str, str]:
    """Return the name and the payload of the event that a case gives a trigger."""
    names = trigger.model.event or [webhook_event(trigger.name)]
    return given.get("name") or names[0], json.dumps(plain(given.get("payload")))


async def ask_work(client: Client, working: Working, work: str, *, follows: bool) -> Answer:
    """Run a trigger or a task, and return how its job ended: 204, or as its failure says."""
    if work.startswith("tasks/"):
        await working.begin(work)
    await working.work_off(work, follows=follows)
    last = next((one for one in reversed(working.attempts) if one.job.work == work), None)
    if last is None or last.error is None:
        return Answer(204, {}, None)
    return answer_of_failure(client, last.error, work)


def answer_of_failure(client: Client, error: Exception, work: str) -> Answer:
    """Return the answer of a request that failed as a job has failed."""
    scope: dict[str, Any] = {
        "method": "RUN", "path": work, "headers": [], "bbops": ActiveRequest(),
    }  # fmt: skip
    status, body, headers = client.release.answering.failure(error, scope)
    found = {name.decode(): value.decode("latin-1") for name, value in headers}
    return Answer(status, found, read(body, found))


@dataclass(frozen=True, slots=True)
class Coming:
    """An event, and when it happens in milliseconds since 1970."""

    at: int
    name: str
    payload: str


def coming_events(events: Iterable[LaterEvent], host: Host) -> list[Coming]:
    """Return the events of a case that begins now, in the order in which they happen.

    Raises:
        Failure: a payload cannot be computed.
    """
    return sorted(_coming(events, host), key=lambda one: one.at)


def _coming(events: Iterable[LaterEvent], host: Host) -> Iterator[Coming]:
    began: datetime = host.clock.now()
    for one in events:
        after = seconds(one.after) if one.after else 0.0
        payload = None if one.payload is None else plain(compute(one.payload, host))
        at = round(1000 * (began.timestamp() + after))
        yield Coming(at, one.event, json.dumps(payload))
