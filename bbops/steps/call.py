"""call: run another function and take the value of its return."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import ClassVar

from bbops.diagnostics import suggest
from bbops.expressions.types import ANY, Type
from bbops.expressions.values import MapValue, ValueField
from bbops.model import Model
from bbops.steps._base import Checking, Example, Static, Step, mark_of
from bbops.steps._flow import Flow


class CallParameters(Model):
    """The function, and the only values it sees."""

    function: Static
    input: ValueField | None = None
    params: ValueField | None = None
    query: ValueField | None = None


class Call(Step):
    """Run a function with variables of its own; what it throws goes through."""

    title: ClassVar[str] = "Call Function"
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
        for part in ("input", "params", "query"):
            value = getattr(self.call, part)
            at.value(value)
            if known is not None and (value is None or isinstance(value, MapValue)):
                self.compare(at, part, value, *known.inputs.get(part, ((), ())))
        return ANY

    def calls(self) -> Sequence[str]:
        return (str(self.call.function),)

    def compare(
        self, at: Checking, part: str, value: MapValue | None,
        declared: Sequence[str], required: Sequence[str],
    ) -> None:  # fmt: skip
        given = dict(value.items) if value else {}
        where = value.keys_at if value else None
        for key in given:
            if key not in declared:
                at.report(
                    (where or {}).get(key), "unknown-field",
                    f"function '{self.call.function}' declares no {part} '{key}'",
                    suggest(key, declared),
                )  # fmt: skip
        for key in required:
            if key not in given:
                at.report(
                    mark_of(self.call.function), "missing-argument",
                    f"function '{self.call.function}' needs {part} '{key}'",
                )  # fmt: skip

    def code(self, flow: Flow) -> list[ast.stmt]:
        return flow.tick() + flow.store(
            self.as_,
            flow.expression(
                "await invoke(run, callee, input, params, query)",
                invoke="bbops.runtime.flow:invoke",
                callee=flow.callee(str(self.call.function)),
                input=flow.value(self.call.input),
                params=flow.value(self.call.params),
                query=flow.value(self.call.query),
            ),
        )
