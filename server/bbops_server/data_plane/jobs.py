"""Jobs of a project, for the parent: its live release has the database open."""

from __future__ import annotations

import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

from msgspec.structs import replace

from bbops.base.errors import ServerError
from bbops.base.json_work import Job, TaskTime
from bbops.database.open import Opened, work_dialect
from bbops.runtime.values.failures import Failure
from bbops.runtime.work.control import WorkControl
from bbops.runtime.work.engine import now_ms
from bbops.runtime.work.events import unwrap
from bbops.runtime.work.schedules import list_ticks
from bbops.runtime.work.values import RESTORED
from bbops_server.data_plane.live.swap import Live
from bbops_server.process.messages.jobs import (
    ChangeJobs,
    ChangeJobsAnswer,
    CountJobs,
    JobCounts,
    ListJobs,
    ListJobsAnswer,
    ListTicks,
    ListTicksAnswer,
    ShowJob,
    ShowJobAnswer,
)
from bbops_server.process.messages.request import AnswerMessage
from bbops_server.process.messages.service import Handlers, RequestHandler

HELD_BY_PEOPLE: Final = "held by hand"


Answers: TypeAlias = Mapping[type, Callable[[Live, Any], Awaitable[AnswerMessage]]]
"""Functions that answer requests about a project's work, by the class of the request."""


def work_handlers(
    find: Callable[[Any], Live], ring: Callable[[], None], *tables: Answers
) -> Handlers:
    """Return the handlers of requests about a project's work.

    Args:
        find: returns the live release of the request's project.
        ring: wakes the work process.
        tables: the functions that answer.
    """

    def about(answer: Callable[[Live, Any], Awaitable[AnswerMessage]]) -> RequestHandler:
        async def handle(request: Any) -> AnswerMessage:
            try:
                found = await answer(find(request), request)
            except Failure as failure:
                raise ServerError(failure.message) from None
            ring()
            return found

        return handle

    return {kind: about(answer) for table in tables for kind, answer in table.items()}


def database_of(live: Live) -> Opened:
    """Return a project's database, for what is no change of its rows.

    Raises:
        ServerError: nothing is live.
    """
    if live.release is None:
        raise ServerError("the project has no live release", hint="'bbops status' says why")
    found: Opened = unwrap(live.release.answering.host.database)
    return found


def masked(live: Live, value: Any) -> Any:
    """Return a value without secrets and private columns, which may be newer than its record."""
    return live.release.answering.mask.value(value) if live.release else value


def _control(live: Live) -> WorkControl:
    database = database_of(live)
    return WorkControl(database, work_dialect(database))


async def _count(live: Live, request: CountJobs) -> JobCounts:
    del request
    return JobCounts(await _control(live).counts_by_work())


async def _list(live: Live, request: ListJobs) -> ListJobsAnswer:
    control = _control(live)
    if request.state == "ended":
        found = await control.ended(limit=request.most)
    else:
        state: Any = request.state or None
        found = await control.jobs(state=state, limit=request.most)
    ticks = [TaskTime(one.task, one.at / 1000) for one in await control.ticks()]
    return ListJobsAnswer([_job(live, one) for one in found], await control.counts(), ticks)


async def _list_ticks(live: Live, request: ListTicks) -> ListTicksAnswer:
    waiting = {ticks.task: ticks for ticks in await _control(live).ticks()}
    tasks = live.release.tasks if live.release else {}
    names = sorted(tasks) if not request.task else [request.task] if request.task in tasks else []
    now = now_ms()
    return ListTicksAnswer(
        [list_ticks(tasks[name], request.count, now, waiting.get(name)) for name in names]
    )


async def _show(live: Live, request: ShowJob) -> ShowJobAnswer:
    found = await _control(live).details(request.job)
    if found is None:
        return ShowJobAnswer(None)
    payload = json.dumps(masked(live, json.loads(found.payload)))
    return ShowJobAnswer(replace(found, job=_job(live, found.job), payload=payload))


async def _change(live: Live, request: ChangeJobs) -> ChangeJobsAnswer:
    control = _control(live)
    one = request.job
    match request.action:
        case "hold":
            return ChangeJobsAnswer(await control.hold(HELD_BY_PEOPLE))
        case "release":
            reason = RESTORED if request.restored else ""
            return ChangeJobsAnswer(await control.release([one] if one else None, reason=reason))
        case "start":
            return ChangeJobsAnswer(int(await control.run(one)))
        case "retry":
            if await control.retry(one, from_start=request.from_start):
                return ChangeJobsAnswer(1)
            return ChangeJobsAnswer(0, await control.replacement(one))
        case "cancel":
            return ChangeJobsAnswer(int(await control.cancel(one)))
        case "run":
            if live.release is None or one not in live.release.tasks:
                return ChangeJobsAnswer(0)
            job = f"{one}@{secrets.token_hex(4)}"
            await control.run_now(one, job)
            return ChangeJobsAnswer(1, job)


def _job(live: Live, job: Job) -> Job:
    error = live.release.answering.mask.text(job.error) if live.release else ""
    return replace(job, error=error)


JOB_ANSWERS: Final[Answers] = {
    CountJobs: _count, ListJobs: _list, ListTicks: _list_ticks, ShowJob: _show,
    ChangeJobs: _change,
}  # fmt: skip
