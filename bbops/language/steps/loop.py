"""loop: run steps for each member of a list, or while a condition holds."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from bbops.base.model import Model
from bbops.base.names import VariableName
from bbops.language.expressions.known import Facts
from bbops.language.expressions.types import ANY, INTEGER, NEVER, NULL, Type, concealed, list_of
from bbops.language.expressions.values import Bare, BareField, ValueField
from bbops.language.steps._base import Checking, Example, Step, Steps, variables
from bbops.language.steps._flow import Flow
from bbops.language.steps._notes import Round


class LoopParameters(Model):
    """The list or the condition of the loop, its variables, and the collected value.

    `max` is how many rounds a loop with `while` may have.
    """

    over: BareField | None = None
    while_: BareField | None = Field(default=None, alias="while")
    max: Annotated[int, Field(ge=1, le=100_000)] | None = None
    each: VariableName | None = None
    index: VariableName | None = None
    where: BareField | None = None
    steps: Steps | None = None
    collect: ValueField | None = None

    @model_validator(mode="after")
    def check_kind(self) -> Self:
        """Refuse keys of the other kind of loop, and a `while` that may go on for ever."""
        if (self.over is None) == (self.while_ is None):
            raise PydanticCustomError("bad_value", "a loop needs 'over' or 'while', one of them")
        if (self.while_ is None) != (self.max is None):
            raise PydanticCustomError(
                "bad_value", "'while' and 'max' belong together",
                {"hint": "'max' is how many rounds there may be: over it the step fails"},
            )  # fmt: skip
        for key in ("each", "where") if self.while_ is not None else ():
            if getattr(self, key) is not None:
                raise PydanticCustomError("bad_value", "'{key}' needs 'over'", {"key": key})
        return self


class Loop(Step):
    """Run `steps` once per member; `collect` gathers a value of each into `as`.

    - With `where` only these members count; what it proves holds inside.
    - With `while` in the place of `over` it goes on as long as the condition holds. After `max`
      rounds in which it still does, the step fails with the code `loopLimit`.
    - The steps `break` and `continue` end the loop, or this round of it.
    - A loop may have no rounds, so a variable that only its steps set may be unset after it.
    """

    title: ClassVar[str] = "Loop"
    fits_transaction: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Double the odd ones",
            "- loop:\n"
            "    over: input.numbers\n"
            "    each: number\n"
            "    where: vars.number % 2 == 1\n"
            "    collect: ${ vars.number * 2 }\n"
            "  as: doubled\n"
            "- return:\n    value: ${ vars.doubled }",
            input={"numbers": [1, 2, 3]},
            value=[2, 6],
        ),
        Example(
            "Go on while there is more",
            "- set: { left: '${ input.count }' }\n"
            "- loop:\n"
            "    while: vars.left > 0\n"
            "    max: 100\n"
            "    steps:\n      - set: { left: '${ vars.left - 2 }' }\n"
            "    collect: ${ vars.left }\n"
            "  as: steps\n"
            "- return: { value: '${ vars.steps }' }",
            input={"count": 5},
            value=[3, 1, -1],
        ),
    )

    loop: LoopParameters

    def check(self, at: Checking) -> Type:
        loop = self.loop
        member = NEVER if loop.over is None else self.member(at, loop.over)
        collected, after, ends = NEVER, _nothing(), Round()

        def body() -> None:
            nonlocal collected, after, ends
            ends = Round()
            if loop.each:
                at.set(loop.each, member, self.place("each"))
            if loop.index:
                at.set(loop.index, INTEGER, self.place("index"))
            collected, after = self.one_round(at, why, ends)

        why = f"only the 'loop' on line {at.line} sets it, and it may have no rounds"
        at.repeat(body, [*self.own(), *variables(loop.steps or ())], why, id(self))
        at.scope.known = at.scope.known.copy(after)
        at.rejoin(("", at.scope.known), *((why, known) for known in ends.broken))
        if loop.collect is None and self.as_:
            at.report(
                self.place("as"), "nothing-collected", "'as' needs 'collect' in the loop",
                "add 'collect: ${ … }'",
            )  # fmt: skip
        return list_of(collected) if loop.collect is not None else NULL

    def member(self, at: Checking, of: Bare) -> Type:
        place = self.place("over")
        over = at.refuse_null(of, at.value(of), "a loop", place)
        if over.kind not in {"list", "any"}:
            at.report(place, "not-a-list", f"a loop needs a list, got {over}")
        return concealed(over.item or ANY, by=[over] if over.private else [])

    def one_round(self, at: Checking, why: str, ends: Round) -> tuple[Type, Facts]:
        """Check the steps for a member, and the effects of a `where`.

        Returns:
            The collected type, and the facts after `while` is false.
        """
        loop = self.loop
        facts, after = _nothing(), _nothing()
        if loop.where is not None:
            facts, _ = at.condition(loop.where, self.place("where"))
        if loop.while_ is not None:
            facts, after = at.condition(loop.while_, self.place("while"))
        skipped = at.scope.known
        at.scope.known = skipped.copy(facts)
        with at.within(ends):
            at.steps(loop.steps or ())
        collected = NEVER if at.scope.known.ended else at.value(loop.collect)
        others = [*ends.skipped, *([skipped] if loop.where is not None else [])]
        at.rejoin((why, at.scope.known), *(("", known) for known in others))
        return collected, after

    def own(self) -> Sequence[str]:
        return [name for name in (self.loop.each, self.loop.index) if name]

    def blocks(self) -> Sequence[Sequence[Step]]:
        return (self.loop.steps or (),)

    def sets(self) -> Sequence[str]:
        return (*super().sets(), *self.own())

    def code(self, flow: Flow) -> list[ast.stmt]:
        loop, member = self.loop, flow.temporary()
        rounds, collected = flow.temporary(), flow.temporary()
        body = flow.tick()
        if loop.while_ is not None:
            body += self.going_on(flow, loop.while_, rounds)
        if loop.each:
            body += flow.store(loop.each, ast.Name(member, ast.Load()))
        if loop.index:
            body += flow.store(loop.index, ast.Name(rounds, ast.Load()))
        if loop.index or loop.while_ is not None:
            body += flow.run(f"{rounds} += 1")
        inner = flow.block(loop.steps or ())
        if loop.collect is not None:
            inner += flow.run(f"{collected}.append(value)", value=flow.value(loop.collect))
        if loop.where is not None:
            inner = [ast.If(flow.condition(loop.where), inner or [ast.Pass()], [])]
        out = flow.run(f"{collected} = []") if loop.collect is not None else []
        out += flow.run(f"{rounds} = 0") if loop.index or loop.while_ is not None else []
        if loop.over is None:
            out += flow.run("while True:\n    BODY", BODY=[*body, *inner])
        else:
            out += flow.run(
                f"for {member} in items(over):\n    BODY",
                items="bbops.runtime.values.operators:items",
                over=flow.bare(loop.over),
                BODY=[*body, *inner],
            )
        return out + (flow.store(self.as_, ast.Name(collected, ast.Load())) if self.as_ else [])

    def going_on(self, flow: Flow, condition: Bare, rounds: str) -> list[ast.stmt]:
        """Return the code that ends the loop, or fails; its `now()` is fixed for each round."""
        test = flow.at_one_time(
            lambda: [ast.If(ast.UnaryOp(ast.Not(), flow.condition(condition)), [ast.Break()], [])]
        )
        return test + flow.run(
            f"if {rounds} >= most:\n    raise limit(most)",
            most=ast.Constant(self.loop.max),
            limit="bbops.runtime.values.failures:LoopLimit",
        )


def _nothing() -> Facts:
    return {}
