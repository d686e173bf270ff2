"""cancel: end a job of `enqueue`."""

from __future__ import annotations

import ast
from typing import ClassVar

from bbops.base.model import Model
from bbops.language.expressions.types import BOOLEAN, Type
from bbops.language.expressions.values import ValueField
from bbops.language.steps._base import Checking, Example, Step
from bbops.language.steps._flow import Flow


class CancelParameters(Model):
    """The `id` that `enqueue` gave."""

    job: ValueField


class Cancel(Step):
    """End a job without running it; a running job ends at its next step. Its effects stay.

    - The result says whether there was a job to end: false if it has ended, true otherwise.
    - It ends jobs of `enqueue` only, not those of tasks and triggers.
    """

    run_by: ClassVar[str] = "bbops.runtime.work.jobs"
    title: ClassVar[str] = "Cancel Job"
    writes: ClassVar[bool] = True
    fits_transaction: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Think again",
            "- enqueue: { function: double, input: { number: 21 }, delay: 1d }\n"
            "  as: job\n"
            '- cancel: { job: "${ vars.job.id }" }\n'
            "  as: isCancelled\n"
            "- return:\n    value: ${ vars.isCancelled }",
            value=True,
        ),
    )

    cancel: CancelParameters

    def check(self, at: Checking) -> Type:
        at.need(self.cancel.job, "text", "'job'", self.place("job"))
        return BOOLEAN

    def code(self, flow: Flow) -> list[ast.stmt]:
        return flow.compute(
            self.as_,
            "await cancel(host, job)",
            cancel="bbops.runtime.steps.work:cancel",
            host=flow.root("host"),
            job=flow.value(self.cancel.job),
        )
