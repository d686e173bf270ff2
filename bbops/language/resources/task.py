"""task: a function that runs on a schedule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from bbops.base.model import need_one_of
from bbops.base.names import Duration
from bbops.language.expressions.values import ValueField
from bbops.language.resources._job import Cron, Every, Priority, Retry, TimeZone
from bbops.language.resources._kind import FunctionName, KebabName, Kind

_FOR_OTHERS: Final = frozenset({"lane", "unique", "debounce"})


class Task(Kind):
    """A function that runs on a schedule.

    - Either `schedule` or `every`. A cron line has five fields: minute, hour, day of the month,
      month, day of the week; it needs quotes where it begins with `*`, which YAML takes for
      an alias.
    - `timezone` is the time zone of `schedule`.
    - `overlap` says what happens when the run before has not ended: `skip` leaves this one out,
      `queue` lets one run wait for it and leaves out others, `allow` runs both.
    - `missed` says what happens when nothing ran at the time, because the server was down: `once`
      makes up for the newest time if that is less than a day ago, `skip` for none, `all` for
      each, at most 100.
    - Each run is a job. A failed run is tried again: it has 5 attempts without `retry`, and with
      `retry` as many as its `attempts`, 3 if left out. What it writes to the project's tables
      happens once. `timeout` is for one attempt, by default 15 minutes, `priority` for jobs that
      wait for room.
    - `jitter` lets each run begin up to so much later, so that tasks of one time do not all begin
      at once.
    - `input` is what the function gets as `input`: constants that fit what it declares.
    - `onDead` is a function that runs when a run has failed for the last time, with the event
      `bbops.job-dead`. `renamedFrom` is the name that the task had before: its runs and its next
      time go on under the new one.
    - Its function gets no request: `params`, `query`, `headers`, `request`, `vars.auth` and
      `vars.apiKey` are mistakes there. It reads `input`, `env` and `job`. What it returns is
      ignored.
    """

    folder: ClassVar[str] = "tasks"
    run_by: ClassVar[str] = "bbops.runtime.work.schedules"
    rank: ClassVar[int] = 50
    nests: ClassVar[bool] = False
    skeleton: ClassVar[str] = "description: {sentence}\nschedule: 0 3 * * *\nfunction: {function}\n"

    description: str | None = None
    schedule: Cron | None = None
    every: Every | None = None
    timezone: TimeZone = "UTC"
    function: FunctionName
    timeout: Duration | None = None
    retry: Retry | None = None
    priority: Priority = "normal"
    overlap: Literal["skip", "queue", "allow"] = "skip"
    missed: Literal["once", "skip", "all"] = "once"
    jitter: Duration | None = None
    input: ValueField | None = None
    on_dead: FunctionName | None = None
    renamed_from: KebabName | None = None
    enabled: bool = True

    @model_validator(mode="before")
    @classmethod
    def check_keys(cls, data: Any) -> Any:
        """Refuse a task with two schedules or none, and keys that tasks do not use."""
        for key in _FOR_OTHERS & data.keys() if isinstance(data, dict) else ():
            message, hint = f"a task has no '{key}'", "'overlap' says how its runs take turns"
            raise PydanticCustomError("one_of", message, {"key": key, "hint": hint})
        return need_one_of(cls, data, "schedule", "every")

    @classmethod
    def summarize(cls, body: Mapping[str, Any]) -> str:
        """Return the summary of a resource for lists, beside its description."""
        return f"{body.get('schedule', '')} → {body.get('function')}"
