"""call: run another function and take the value of its return."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import ClassVar

from bbops.base.model import Model
from bbops.language.expressions.types import NEVER, Type, map_of
from bbops.language.expressions.values import Value, ValueField
from bbops.language.steps._arguments import Arguments
from bbops.language.steps._base import Checking, Example, Static, Step, mark_of
from bbops.language.steps._flow import Flow

_WRONGS = {
    "private-data": "expose a private value it receives here",
    "private-stored": "store a private value it receives here in a column that is not private",
    "secret-compared":
        "compare a secret env variable it receives here with a value that is not a constant",
}  # fmt: skip


class CallParameters(Model):
    """The function, and the only values it sees."""

    function: Static
    input: ValueField | None = None
    params: ValueField | None = None
    query: ValueField | None = None


class Call(Step):
    """Run a function with variables of its own; what it throws goes through.

    - What is given must fit the shapes of the function; the result is what it returns, with its
      type, also where functions call each other.
    - It has only what it is given: no `headers`, no `request`, no `vars.auth`.
    - Private columns may be returned to the caller by a function that is only called.
    """

    title: ClassVar[str] = "Call Function"
    fits_transaction: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Ask another function",
            "- call: { function: double, input: { number: 21 } }\n"
            "  as: answer\n"
            "- return:\n    value: ${ vars.answer }",
            value=42,
        ),
    )

    call: CallParameters

    def check(self, at: Checking) -> Type:
        known = at.function(self.call.function)
        private: set[tuple[str, str, bool]] = set()
        for part in ("input", "params", "query"):
            value: Value | None = getattr(self.call, part)
            of = map_of({}) if value is None else at.value(value)
            if known is not None:
                arguments = Arguments(at, self, self.call.function, known)
                private |= arguments.check(part, value, of)
        if known is None:
            return NEVER
        gives, leaks = known.call(frozenset(private))
        for leak in leaks:
            message = f"function '{self.call.function}' would {_WRONGS[leak.code]}"
            place = mark_of(self.call.function)
            at.report(place, leak.code, message, f"it does so in {leak.place}")
        return gives

    def calls(self) -> Sequence[str]:
        return (str(self.call.function),)

    def code(self, flow: Flow) -> list[ast.stmt]:
        return flow.tick() + flow.compute(
            self.as_,
            "await invoke(run, callee, input, params, query)",
            invoke="bbops.runtime.flow.run:invoke",
            callee=flow.callee(str(self.call.function)),
            input=flow.value(self.call.input),
            params=flow.value(self.call.params),
            query=flow.value(self.call.query),
        )
