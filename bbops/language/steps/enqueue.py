"""enqueue: run a function in the background, as a job."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import ClassVar, Final

from bbops.base.model import Model
from bbops.base.names import Duration
from bbops.language.expressions.types import BOOLEAN, TEXT, Type, map_of
from bbops.language.expressions.values import ValueField
from bbops.language.steps._arguments import Arguments
from bbops.language.steps._base import Checking, Example, Static, Step
from bbops.language.steps._flow import Flow
from bbops.runtime.values.units import seconds

LONGEST_SECONDS: Final = 365 * 86_400


class EnqueueParameters(Model):
    """The function, what it is given, and when it may begin."""

    function: Static
    input: ValueField | None = None
    delay: Duration | None = None
    unique: ValueField | None = None


class Enqueue(Step):
    """Run a function in the background and go on at once; in a transaction, once it commits.

    - The result is `{id, isNew}`; `jobStatus` and `cancel` take the `id`.
    - `input` must fit what the function declares, and is all it has: no request, no `vars.auth`.
    - `unique` is a text or a whole number, or null for none. While a job of the same function and
      the same `unique` has not begun, no other job is made: the result is then the `id` of that
      job, and `isNew` is false. Once it has begun, a new job is made, which runs after it. With a
      `lane` of the function, the lane decides instead whether they run one by one.
    - A job that fails is tried again. `job` of the function says how often, and in which order.
    - In tests nothing runs, and `expect.jobs` names the functions.
    """

    run_by: ClassVar[str] = "bbops.runtime.work.jobs"
    title: ClassVar[str] = "Enqueue"
    writes: ClassVar[bool] = True
    fits_transaction: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Count tomorrow",
            "- enqueue: { function: double, input: { number: 21 }, delay: 1d, unique: count }\n"
            "  as: job\n"
            "- return:\n    value: ${ vars.job.isNew }",
            value=True,
        ),
    )

    enqueue: EnqueueParameters

    def check(self, at: Checking) -> Type:
        given = self.enqueue
        known = at.function(given.function)
        of = at.public(given.input, "this job") if given.input else map_of({})
        if known is not None:
            arguments = Arguments(at, self, given.function, known)
            arguments.check("input", given.input, of)
            for part in ("params", "query"):
                arguments.check(part, None, map_of({}))
        if given.delay is not None and seconds(given.delay) > LONGEST_SECONDS:
            at.report(self.place("delay"), "bad-value", "a job can be delayed by a year at most")
        if given.unique is not None:
            of = at.public(given.unique, "this job")
            at.fit(given.unique, of, "text integer", "'unique'", self.place("unique"), null=True)
        return map_of({"id": TEXT, "isNew": BOOLEAN}, "the job")

    def starts(self) -> Sequence[str]:
        return (str(self.enqueue.function),)

    def code(self, flow: Flow) -> list[ast.stmt]:
        given = self.enqueue
        return flow.compute(
            self.as_,
            "await enqueue(host, function, input, delay, unique, run.origin(line))",
            enqueue="bbops.runtime.steps.work:enqueue",
            host=flow.root("host"),
            function=flow.callee(str(given.function), by_job=True),
            input=flow.value(given.input),
            delay=ast.Constant(round(1000 * seconds(given.delay)) if given.delay else 0),
            unique=flow.value(given.unique),
            line=self.line(flow),
        )
