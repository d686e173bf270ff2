"""loop: run steps for each member of a list."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import ClassVar

from bbops.base.model import Model
from bbops.base.names import VariableName
from bbops.language.expressions.types import ANY, INTEGER, NEVER, NULL, Type, concealed, list_of
from bbops.language.expressions.values import BareField, ValueField
from bbops.language.steps._base import Checking, Example, Step, Steps, variables
from bbops.language.steps._flow import Flow


class LoopParameters(Model):
    """What to walk, under which names, and what to collect."""

    over: BareField
    each: VariableName | None = None
    index: VariableName | None = None
    where: BareField | None = None
    steps: Steps | None = None
    collect: ValueField | None = None


class Loop(Step):
    """Run `steps` once per member; `collect` gathers a value of each into `as`.

    - With `where` only these members count; what it proves holds inside.
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
    )

    loop: LoopParameters

    def check(self, at: Checking) -> Type:
        loop = self.loop
        member, collected = self.member(at), NEVER

        def body() -> None:
            nonlocal collected
            if loop.each:
                at.set(loop.each, member, self.place("each"))
            if loop.index:
                at.set(loop.index, INTEGER, self.place("index"))
            collected = self.one_round(at, why)

        why = f"only the 'loop' on line {at.line} sets it, and it may have no rounds"
        at.repeat(body, [*self.own(), *variables(loop.steps or ())], why, id(self))
        if loop.collect is None and self.as_:
            at.report(
                self.place("as"), "nothing-collected", "'as' needs 'collect' in the loop",
                "add 'collect: ${ … }'",
            )  # fmt: skip
        return list_of(collected) if loop.collect is not None else NULL

    def member(self, at: Checking) -> Type:
        place = self.place("over")
        over = at.refuse_null(self.loop.over, at.value(self.loop.over), "a loop", place)
        if over.kind not in {"list", "any"}:
            at.report(place, "not-a-list", f"a loop needs a list, got {over}")
        return concealed(over.item or ANY, by=[over] if over.private else [])

    def one_round(self, at: Checking, why: str) -> Type:
        """Check what runs for a member, and what a `where` leaves out."""
        loop, facts = self.loop, None
        if loop.where is not None:
            facts, _ = at.condition(loop.where, self.place("where"))
        skipped = at.scope.known
        at.scope.known = skipped.copy(facts)
        at.steps(loop.steps or ())
        collected = at.value(loop.collect)
        if loop.where is not None:
            at.rejoin((why, at.scope.known), ("", skipped))
        return collected

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
        if loop.each:
            body += flow.store(loop.each, ast.Name(member, ast.Load()))
        if loop.index:
            body += flow.store(loop.index, ast.Name(rounds, ast.Load()))
            body += flow.run(f"{rounds} += 1")
        inner = flow.block(loop.steps or ())
        if loop.collect is not None:
            inner += flow.run(f"{collected}.append(value)", value=flow.value(loop.collect))
        if loop.where is not None:
            inner = [ast.If(flow.condition(loop.where), inner or [ast.Pass()], [])]
        out = flow.run(f"{collected} = []") if loop.collect is not None else []
        out += flow.run(f"{rounds} = 0") if loop.index else []
        out += flow.run(
            f"for {member} in items(over):\n    BODY",
            items="bbops.runtime.values.operators:items",
            over=flow.bare(loop.over),
            BODY=[*body, *inner],
        )
        return out + (flow.store(self.as_, ast.Name(collected, ast.Load())) if self.as_ else [])
