"""try: go on after an error."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import ClassVar, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from bbops.language.expressions.emit import load
from bbops.language.expressions.known import FlowFacts
from bbops.language.expressions.types import INTEGER, NULL, NUMBER, TEXT, Type, list_of, map_of
from bbops.language.steps._base import Checking, Example, Step, Steps, refuse_return, variables
from bbops.language.steps._flow import Flow

ERROR = map_of(
    {
        "code": TEXT, "message": TEXT, "status": INTEGER, "step": TEXT,
        "fields": map_of({}, rest=list_of(TEXT).or_null()), "table": TEXT.or_null(),
        "columns": list_of(TEXT), "reason": TEXT.or_null(), "retryAfter": NUMBER.or_null(),
    },
    "error",
)  # fmt: skip


class Try(Step):
    """Run `catch` when a step fails, with `error`; run `finally` whatever happens.

    - `error` has `code`, `message`, `status`, `step` (file and line), `fields`, `table`, `columns`,
      `reason` and `retryAfter`.
      Of the database `code` is `unique`, `foreignKey`, `check` or `notNull`.
    - Where another server has answered, `reason` is its own code of the error, such as
      `card_declined`, and `retryAfter` the seconds that it asks to wait; else they are null.
    - `throw: {}` throws the same error again.
    - The end of a request that takes too long, or whose client has left, and 100,000 rounds are not
      caught; `finally` runs.
    """

    title: ClassVar[str] = "Try/Catch"
    fits_transaction: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Answer an error in other words",
            "- try:\n"
            "    - find: { table: notes, where: id == 99, one: required }\n"
            "  catch:\n"
            "    - if: error.status != 404\n"
            "      then:\n        - throw: {}\n"
            "    - return: { status: 410, value: '${ error.code }' }\n"
            "- return: { value: found }",
            status=410,
            value="notFound",
        ),
        Example(
            "Do something in any case",
            "- try:\n"
            "    - insert: { table: notes, data: { id: 1, title: again } }\n"
            "  catch:\n"
            "    - log: { message: \"${ error.code }: ${ error.columns | join(' ') }\" }\n"
            "  finally:\n"
            "    - log: { message: tried }\n"
            "- return: { value: done }",
            value="done",
        ),
    )

    try_: Steps = Field(alias="try")
    catch: Steps | None = None
    finally_: Steps | None = Field(default=None, alias="finally")

    @model_validator(mode="after")
    def check_parts(self) -> Self:
        """Refuse a `try` that changes nothing."""
        if self.catch is None and self.finally_ is None:
            raise PydanticCustomError("try", "'try' needs 'catch' or 'finally'")
        return self

    def check(self, at: Checking) -> Type:
        done = at.branch(self.try_)
        after = at.may_stop([*variables(self.try_)], self.why(at, "try"))
        ends = [(self.why(at, "try"), done)]
        if self.catch is not None:
            ends.append((self.why(at, "catch"), self.check_catch(at, after)))
        if self.finally_ is None:
            at.rejoin(*ends)
        else:
            self.check_finally(at, self.finally_, ends)
        return NULL

    def why(self, at: Checking, part: str) -> str:
        return f"only '{part}' of the 'try' on line {at.line} sets it"

    def check_catch(self, at: Checking, start: FlowFacts) -> FlowFacts:
        roots = at.scope.roots
        at.scope.roots = {**roots, "error": ERROR}
        start.forget("error")
        end = at.branch(self.catch or (), start=start)
        at.scope.roots = roots
        return end

    def check_finally(self, at: Checking, steps: Steps, ends: list[tuple[str, FlowFacts]]) -> None:
        """Check the steps that run at every end; their variables are set."""
        refuse_return(at, steps, "'finally'")
        before = [*variables(self.try_), *variables(self.catch or ())]
        with at.within("'finally'"):
            end = at.branch(steps, start=at.may_stop(before, self.why(at, "try")))
        at.rejoin(*ends)
        for name in dict.fromkeys(variables(steps)):
            if name in end.vars:
                at.scope.known.set(name, end.vars[name])
        at.scope.known.ended |= end.ended

    def blocks(self) -> Sequence[Sequence[Step]]:
        return (self.try_, self.catch or (), self.finally_ or ())

    def code(self, flow: Flow) -> list[ast.stmt]:
        code = flow.block(self.try_)
        if self.catch is not None:
            code = self.catching(flow, self.catch, code)
        if self.finally_ is not None:
            code = self.ending(flow, self.finally_, code)
        return code

    def catching(self, flow: Flow, steps: Steps, body: list[ast.stmt]) -> list[ast.stmt]:
        error, seen = flow.temporary(), flow.temporary()
        around, flow.caught = flow.caught, error
        with flow.instead(error=load(seen)):
            code = flow.block(steps)
        flow.caught = around
        return flow.run(
            "try:\n    BODY\nexcept out_of_fuel:\n    raise\n"
            f"except failure as {error}:\n    {seen} = describe({error})\n    CATCH",
            out_of_fuel="bbops.runtime.values.failures:OutOfFuel",
            failure="bbops.runtime.values.failures:Failure",
            describe="bbops.runtime.http.responses:describe",
            BODY=body,
            CATCH=code,
        )

    def ending(self, flow: Flow, steps: Steps, body: list[ast.stmt]) -> list[ast.stmt]:
        """Return code in which a failure in `finally` does not hide that the request was ended."""
        end, error = flow.temporary(), flow.temporary()
        if flow.is_durable:
            return self.ending_awake(flow, steps, body, end, error)
        return flow.run(
            f"{end} = None\n"
            f"try:\n    BODY\nexcept cancelled as {error}:\n    {end} = {error}\n    raise\n"
            "finally:\n    try:\n        FINALLY\n    except failure:\n"
            f"        if {end} is not None:\n            raise {end}\n        raise",
            cancelled="bbops.runtime.http.responses:Cancelled",
            failure="bbops.runtime.values.failures:Failure",
            BODY=body,
            FINALLY=flow.block(steps),
        )

    def ending_awake(
        self, flow: Flow, steps: Steps, body: list[ast.stmt], end: str, error: str
    ) -> list[ast.stmt]:
        """Return that code for a job, whose `finally` does not run when it goes to sleep."""
        return flow.run(
            f"{end} = None\n"
            f"try:\n    BODY\nexcept ended as {error}:\n    {end} = {error}\n    raise\n"
            f"finally:\n    if not is_asleep({end}):\n        try:\n            FINALLY\n"
            f"        except failure:\n            if {end} is not None:\n"
            f"                raise {end}\n            raise",
            ended="bbops.runtime.steps.blocks:ENDED",
            is_asleep="bbops.runtime.steps.blocks:is_asleep",
            failure="bbops.runtime.values.failures:Failure",
            BODY=body,
            FINALLY=flow.block(steps),
        )
