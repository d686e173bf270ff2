"""parallel: run lists of steps at the same time."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Annotated, ClassVar

from pydantic import Field

from bbops.base.names import VariableName
from bbops.language.expressions.known import FlowFacts
from bbops.language.expressions.types import NULL, Type, map_of
from bbops.language.steps._base import Checking, Example, Step, Steps, refuse_return, variables
from bbops.language.steps._flow import Flow


class Parallel(Step):
    """Continue after all branches are done; a failing branch cancels the others.

    - A variable that a branch sets is its own: the others neither set nor read it.
    - `as` holds the result of each branch's last step, by the branch's name.
    - No `return` stands inside.
    """

    title: ClassVar[str] = "Parallel"
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Two queries at once",
            "- parallel:\n"
            "    open:\n"
            "      - find: { table: notes, where: not done }\n"
            "        as: open\n"
            "    done:\n"
            "      - find: { table: notes, where: done }\n"
            "        as: done\n"
            "  as: both\n"
            "- return:\n"
            "    value: ['${ vars.open | length }', '${ vars.both.done | length }']",
            value=[2, 1],
        ),
    )

    parallel: Annotated[dict[VariableName, Steps], Field(min_length=1, max_length=32)]

    def check(self, at: Checking) -> Type:
        ends: dict[str, FlowFacts] = {}
        reads: dict[str, set[str]] = {}
        before, scope = at.scope.reads, at.scope
        for name, steps in self.parallel.items():
            refuse_return(at, steps, "'parallel'")
            scope.reads = reads[name] = set()
            with at.within("'parallel'"):
                ends[name] = at.branch(steps)
        kept = {steps[-1].as_ for steps in self.parallel.values()} if self.as_ else set()
        scope.reads = before.union(*reads.values(), filter(None, kept))
        self.check_shared(at, reads)
        for name, end in ends.items():
            self.take(at, name, end)
        return self.result(ends)

    def check_shared(self, at: Checking, reads: Mapping[str, set[str]]) -> None:
        """Report variables that one branch sets and another one uses at the same time."""
        sets = {name: set(variables(steps)) for name, steps in self.parallel.items()}
        for branch, other in permutations(self.parallel, 2):
            for shared in sorted(sets[branch] & (sets[other] | reads[other])):
                message = f"branch '{other}' uses 'vars.{shared}', which branch '{branch}' sets"
                hint = "they run at the same time: use another name, or do it after 'parallel'"
                at.report(self.key_place(other), "parallel", message, hint)

    def take(self, at: Checking, name: str, end: FlowFacts) -> None:
        """Take over the variables of a branch: all branches run to their end."""
        known, why = at.scope.known, f"not every path of branch '{name}' sets it"
        for variable in dict.fromkeys(variables(self.parallel[name])):
            if variable in end.vars:
                known.set(variable, end.vars[variable])
            else:
                known.unset.setdefault(variable, end.unset.get(variable, why))
        known.ended |= end.ended

    def result(self, ends: Mapping[str, FlowFacts]) -> Type:
        found = {
            name: ends[name].vars.get(steps[-1].as_ or "", NULL)
            for name, steps in self.parallel.items()
        }
        return map_of(found, "the results")

    def blocks(self) -> Sequence[Sequence[Step]]:
        return tuple(self.parallel.values())

    def code(self, flow: Flow) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        branches: list[str] = []
        for branch, steps in self.parallel.items():
            name, code = flow.apart(variables(steps), flow.branch(branch, steps))
            branches.append(name)
            out += code
        out += flow.run(
            f"await side_by_side({', '.join(branches)})",
            side_by_side="bbops.runtime.steps.blocks:side_by_side",
        )
        if self.as_ is None:
            return out
        last = [steps[-1].as_ for steps in self.parallel.values()]
        values = [flow.variable(name) if name else ast.Constant(None) for name in last]
        keys: list[ast.expr | None] = [ast.Constant(str(name)) for name in self.parallel]
        return out + flow.store(self.as_, ast.Dict(keys, values))
