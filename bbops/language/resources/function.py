"""function: steps, and the shapes of their input."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import StringConstraints

import bbops.language.addons._own  # noqa: F401 - it and `_base` register the steps of addons
from bbops.base.model import RunBy
from bbops.language.resources._job import Job
from bbops.language.resources._kind import Kind
from bbops.language.shape import Field, Shape
from bbops.language.steps._base import Step, Steps, every_step

Status = Annotated[str, StringConstraints(pattern=r"^[2-5][0-9][0-9]$")]


class Function(Kind):
    """Steps, and the shapes of their input.

    - It runs for endpoints, as middleware, for tasks, triggers and agents, and through `call` and
      `enqueue`. What it may read is what all of its ways give: `vars.auth` only where each of them
      has JWT, the request only where each of them is a request, `event` and `trigger` only behind
      triggers, `job` only where jobs alone run it.
    - `job.id` names the job, `job.attempt` counts its attempts from 1. `job.key` is the same in
      each attempt, and no other job has it: other services recognize a repeated request by it.
    - `input` is the body, `query` and `params` are parts of the address, `payload` is what an event
      brings. `name: type` must be there, `name?: type` may be left out, `type?` may be null. What
      does not fit is answered with 400 and every wrong field; what is not declared is dropped.
    - A field of `query` may have `fields`, one level of them: `created_at: { fields: { gte?:
      datetime } }` is `?created_at[gte]=2026-01-01`, and `query.created_at?.gte`. A text without
      brackets is the field `eq`, where there is one; a list takes every text of a repeated name.
    - With `strictQuery: true` a name of the query that no shape declares is 400, too, also one in
      brackets; the shapes of middleware count. Middleware that says it does so for each of its
      routes.
    - A path parameter that it needs stands in every path that leads to it. Undeclared names of
      `query` and `params` arrive as texts; undeclared names of `input` are dropped.
    - The types of `input`, `query`, tables and steps flow through the whole function: `bbops
      validate` refuses what would fail, at its line and column.
    - `job` sets how the jobs run that `enqueue` makes of it: jobs of one `lane` in order, which
      jobs first, how long an attempt may take, and how often a failed job is tried.
    - A function may run 100,000 rounds of loops and calls in all, and call 32 deep.
    """

    folder: ClassVar[str] = "functions"
    rank: ClassVar[int] = 20
    skeleton: ClassVar[str] = (
        "description: {sentence}\n\nsteps:\n  - return:\n      value: { ok: true }\n"
    )

    description: str | None = None
    input: Shape | None = None
    query: Shape | None = None
    strict_query: bool = False
    params: Shape | None = None
    payload: Annotated[Shape | None, RunBy("bbops.runtime.work.triggers")] = None
    output: dict[Status, Field] = {}
    job: Annotated[Job | None, RunBy("bbops.runtime.work.jobs")] = None
    steps: Steps

    @cached_property
    def every_step(self) -> tuple[Step, ...]:
        """All steps of the function, at any depth, in their order."""
        return tuple(every_step(self.steps))

    @cached_property
    def callees(self) -> tuple[str, ...]:
        """The functions that its steps call, in their order."""
        return tuple(name for step in self.every_step for name in step.calls())

    @cached_property
    def started(self) -> tuple[str, ...]:
        """The functions that jobs of its steps run, in their order."""
        return tuple(name for step in self.every_step for name in step.starts())

    @classmethod
    def summarize(cls, body: Mapping[str, Any]) -> str:
        """Return the summary of a resource for lists, beside its description."""
        return f"{len(body.get('steps') or ())} steps"
