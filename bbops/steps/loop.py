"""loop: run steps for each member of a list."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import ClassVar

from bbops.expressions.types import ANY, INTEGER, NULL, Type, concealed, list_of
from bbops.expressions.values import BareField, ValueField
from bbops.model import Model
from bbops.names import VariableName
from bbops.steps._base import Checking, Example, Step, Steps
from bbops.steps._flow import Flow


class LoopParameters(Model):
    """What to walk, under which names, and what to collect."""

    over: BareField
    each: VariableName | None = None
    index: VariableName | None = None
    where: BareField | None = None
    steps: Steps | None = None
    collect: ValueField | None = None


class Loop(Step):
    """Run `steps` once per member; `collect` gathers a value of each into `as`."""

    title: ClassVar[str] = "Loop"
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
        over = at.bare(loop.over)
        if over.kind not in {"list", "any"}:
            at.report(self.place("over"), "not-a-list", f"a loop needs a list, got {over}")
        if loop.each:
            at.scope.set(loop.each, concealed(over.item or ANY, by=[over] if over.private else []))
        if loop.index:
            at.scope.set(loop.index, INTEGER)
        at.own_names(loop.each, loop.index)
        if loop.where is not None:
            at.condition(loop.where, self.place("where"))
        at.steps(loop.steps or ())
        if loop.collect is None:
            if self.as_:
                at.report(
                    self.place("as"), "nothing-collected", "'as' needs 'collect' in the loop",
                    "add 'collect: ${ … }'",
                )  # fmt: skip
            return NULL
        return list_of(at.value(loop.collect))

    def blocks(self) -> Sequence[Sequence[Step]]:
        return (self.loop.steps or (),)

    def sets(self) -> Sequence[str]:
        loop = self.loop
        return (*super().sets(), *(name for name in (loop.each, loop.index) if name))

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
            items="bbops.runtime.operators:items",
            over=flow.bare(loop.over),
            BODY=[*body, *inner],
        )
        return out + (flow.store(self.as_, ast.Name(collected, ast.Load())) if self.as_ else [])
