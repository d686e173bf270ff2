"""jobStatus: say how far a job of `enqueue` is."""

from __future__ import annotations

import ast
from typing import ClassVar

from bbops.base.model import Model
from bbops.language.expressions.types import ANY, INTEGER, TEXT, Type, map_of
from bbops.language.expressions.values import ValueField
from bbops.language.steps._base import Checking, Example, Step
from bbops.language.steps._flow import Flow


class JobStatusParameters(Model):
    """The `id` that `enqueue` gave."""

    job: ValueField


class JobStatus(Step):
    """Give `{state, attempts, result, error}` of a job of `enqueue`; null where there is none.

    - `state` is `ready`, `later` or `blocked` for a waiting job, `running`, `held`, `dead`, or
      `done` or `cancelled` for an ended one.
    - `result` is what its function returned, once it is done; `error` why its last attempt failed.
    - A job is known for 7 days after it has ended, unless `work.keep` of the server's file changes
      that; a dead job for 30.
    """

    run_by: ClassVar[str] = "bbops.runtime.work.jobs"
    title: ClassVar[str] = "Job Status"
    fits_transaction: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Ask how far it is",
            "- enqueue: { function: double, input: { number: 21 }, delay: 1d }\n"
            "  as: job\n"
            '- jobStatus: { job: "${ vars.job.id }" }\n'
            "  as: status\n"
            "- return:\n    value: ${ vars.status?.attempts }",
            value=0,
        ),
    )

    job_status: JobStatusParameters

    def check(self, at: Checking) -> Type:
        at.need(self.job_status.job, "text", "'job'", self.place("job"))
        found = {"state": TEXT, "attempts": INTEGER, "result": ANY, "error": TEXT.or_null()}
        return map_of(found, "the job").or_null()

    def code(self, flow: Flow) -> list[ast.stmt]:
        return flow.compute(
            self.as_,
            "await job_status(host, job)",
            job_status="bbops.runtime.steps.work:job_status",
            host=flow.root("host"),
            job=flow.value(self.job_status.job),
        )
